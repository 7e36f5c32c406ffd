"""OpenID Connect before a real API server that trusts a real issuer: tokens, their renewal, and what becomes of the
kubeconfig that holds them."""

from __future__ import annotations

import base64
import http.server
import json
import os
import ssl
import stat
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from kubescript_safety.controlplane import pki
from tests.kit import clients, identities
from tests.kit.controlplane.server import ControlPlane

CLIENT = "kubescript"


def text(data: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer(http.server.ThreadingHTTPServer):
    """An identity provider: discovery, keys, and one refresh token a user, good for one use."""

    daemon_threads = True

    def __init__(self, folder: Path, authority: pki.Authority) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        authority.serving(["issuer"], ["127.0.0.1"]).write(folder, "issuer")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "issuer.crt", folder / "issuer.key")
        self.url = f"https://127.0.0.1:{self.server_port}"
        self.refreshes: list[str] = []
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._lock = threading.Lock()
        self._good: dict[str, str] = {}
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def token(self, user: str, seconds: int = 3600) -> str:
        """An id token of this user."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "sub": user, "iat": now - 7200, "exp": now + seconds}
        head = {"alg": "ES256", "kid": "one", "typ": "JWT"}
        signed = ".".join(text(json.dumps(part).encode()) for part in (head, claims))
        r, s = utils.decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def offline(self, user: str) -> str:
        """A refresh token; the one before it is no longer good."""
        with self._lock:
            self._good[user] = f"refresh-{user}-{time.monotonic_ns()}"
            return self._good[user]

    def refreshed(self, used: str) -> dict[str, Any] | None:
        """What the token endpoint answers."""
        self.refreshes.append(used)
        user = next((user for user, good in self._good.items() if good == used), None)
        if user is None:
            return None
        answer = {"access_token": "x", "token_type": "Bearer", "expires_in": 3600}
        return {**answer, "id_token": self.token(user), "refresh_token": self.offline(user)}

    def documents(self, path: str) -> dict[str, Any] | None:
        """Discovery and keys."""
        numbers = self._key.public_key().public_numbers()
        x, y = (text(each.to_bytes(32, "big")) for each in (numbers.x, numbers.y))
        key = {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "one", "x": x, "y": y}
        documents: dict[str, dict[str, Any]] = {
            "/.well-known/openid-configuration": {
                "issuer": self.url, "jwks_uri": f"{self.url}/keys", "token_endpoint": f"{self.url}/token",
                "authorization_endpoint": f"{self.url}/auth", "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["ES256"],
            },
            "/keys": {"keys": [key]},
        }  # fmt: skip
        return documents.get(path)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class Answer(http.server.BaseHTTPRequestHandler):
    server: Issuer

    def setup(self) -> None:
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def do_GET(self) -> None:
        self.answer(self.server.documents(self.path), 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(self.server.refreshed(urllib.parse.parse_qs(body)["refresh_token"][0]), 400)

    def answer(self, document: dict[str, Any] | None, otherwise: int) -> None:
        data = json.dumps(document or {"error": "invalid_grant"}).encode()
        self.send_response(otherwise if document is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Issuer, Path]]:
    """The provider, and the CA that vouches for it."""
    folder = tmp_path_factory.mktemp("issuer")
    authority = pki.Authority()
    (folder / "ca.crt").write_bytes(authority.certificate)
    made = Issuer(folder, authority)
    yield made, folder / "ca.crt"
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def plane(issuer: tuple[Issuer, Path]) -> Iterator[ControlPlane]:
    """An API server of its own that trusts the provider."""
    made, ca = issuer
    flags = (
        f"--oidc-issuer-url={made.url}", f"--oidc-ca-file={ca}", f"--oidc-client-id={CLIENT}",
        "--oidc-username-claim=sub", "--oidc-username-prefix=oidc:", "--oidc-signing-algs=ES256",
    )  # fmt: skip
    with ControlPlane(flags) as server:
        yield server


def user(issuer: tuple[Issuer, Path], token: str, refresh: str) -> dict[str, Any]:
    """As `kubectl config set-credentials --auth-provider=oidc` writes it."""
    made, ca = issuer
    config = {
        "idp-issuer-url": made.url, "client-id": CLIENT, "client-secret": "s", "id-token": token, "refresh-token": refresh,
        "idp-certificate-authority": str(ca),
    }  # fmt: skip
    return {"auth-provider": {"name": "oidc", "config": config}}


def test_an_id_token_is_renewed_in_every_context(
    issuer: tuple[Issuer, Path], plane: ControlPlane, tmp_path: Path
) -> None:
    """A valid token is used, an expired one renewed once and kept in the kubeconfig, a refused one a named fault."""
    made, _ = issuer
    path = identities.kubeconfig(plane, tmp_path / "config", {
        "alice": user(issuer, made.token("alice"), "unused"),
        "bob": user(issuer, made.token("bob", -60), made.offline("bob")),
        "carol": user(issuer, made.token("carol", -60), made.offline("carol")),
        "mallory": user(issuer, made.token("mallory", -60), "stolen-refresh-token"),
    })  # fmt: skip
    path.chmod(0o600)
    made.refreshes.clear()
    with identities.asking(path) as ask:
        for _ in range(2):
            said = ask(identities.EACH)
            assert identities.document(said) == {
                "alice": "oidc:alice", "bob": "oidc:bob", "carol": "oidc:carol", "mallory": "cluster.config",
            }, said  # fmt: skip
            assert "stolen" not in said
    assert [each.split("-")[1] for each in made.refreshes if "stolen" not in each] == ["bob", "carol"]
    users = {
        each["name"]: each["user"]["auth-provider"]["config"] for each in yaml.safe_load(path.read_text())["users"]
    }
    for name in ("bob", "carol"):
        assert users[name]["refresh-token"] == made._good[name], "a refresh token is good for one use"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_contexts_of_one_file_renew_side_by_side(
    issuer: tuple[Issuer, Path], plane: ControlPlane, tmp_path: Path
) -> None:
    """Many contexts of one kubeconfig renewed in the same moment: none undoes what another has written."""
    made, _ = issuer
    names = [f"user{number}" for number in range(6)]
    path = identities.kubeconfig(plane, tmp_path / "config", {
        name: user(issuer, made.token(name, -60), made.offline(name)) for name in names
    })  # fmt: skip
    with identities.asking(path) as ask:
        said: dict[str, str] = {}

        def one(name: str) -> None:
            said[name] = ask(f"k8s = k8s.context({name!r})\n{identities.WHO}")

        threads = [threading.Thread(target=one, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said == {name: f"oidc:{name}" for name in names}
    users = {
        each["name"]: each["user"]["auth-provider"]["config"] for each in yaml.safe_load(path.read_text())["users"]
    }
    assert {name: users[name]["refresh-token"] for name in names} == {name: made._good[name] for name in names}


READ_ONLY = """
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
shift
exec "$@"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file read-only")
def test_a_kubeconfig_that_cannot_be_written_does_not_stop_the_renewal(
    issuer: tuple[Issuer, Path], plane: ControlPlane, tmp_path: Path
) -> None:
    """A Secret mounted into a pod: the token is renewed in memory, the file stays as it is."""
    made, _ = issuer
    path = identities.kubeconfig(
        plane, tmp_path / "config", {"dora": user(issuer, made.token("dora", -60), made.offline("dora"))}
    )
    before = path.read_bytes()
    shell = ["unshare", "--mount", "sh", "-ec", READ_ONLY, "sh", str(path)]
    done = subprocess.run(
        [*shell, clients.INSTALLED, "run", "-", "--kubeconfig", str(path)],
        input=identities.WHO, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.stdout.strip() == "oidc:dora", done
    assert path.read_bytes() == before
