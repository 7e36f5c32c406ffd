"""gke_auth before a real API server that accepts the tokens of a stand-in for Google's token endpoint."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from anyio.from_thread import start_blocking_portal
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp.client import Client
from mcp.client.stdio import stdio_client

from tests.kit import clients, tools, trails
from tests.kit.controlplane.server import ControlPlane
from tests.unit.kubescript.cluster.test_api_server_misbehaves import Server

TOKENS = ("ya29.first-token-of-the-stand-in", "ya29.second-token-of-the-stand-in")
"""Each is another user of the API server, so that a test sees which one was sent."""
NAME = "gke_shop-prod_europe-west1_one"
WHO = "k8s.authenticationV1().create_self_subject_review({}).status.user_info.username"


class Google(http.server.ThreadingHTTPServer):
    """A token endpoint, which gives one token after the other."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Endpoint)
        self.asked = 0
        self.lives_s = 3600
        self.answers = list(TOKENS)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class Endpoint(http.server.BaseHTTPRequestHandler):
    server: Google

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        token = self.server.answers[min(self.server.asked, len(self.server.answers) - 1)]
        self.server.asked += 1
        answer: dict[str, Any] = {"access_token": token, "expires_in": self.server.lives_s, "token_type": "Bearer"}
        if not token:
            answer = {"error": "invalid_grant", "error_description": "quotes an assertion: eyJhbGciOi"}
        data = json.dumps(answer).encode()
        self.send_response(200 if token else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def google() -> Iterator[Google]:
    made = Google()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def account(google: Google, tmp_path: Path) -> Path:
    """A service account's key file whose token endpoint is the stand-in."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "account.json"
    path.write_text(json.dumps({
        "type": "service_account", "project_id": "shop-prod", "private_key_id": "k", "private_key": key.decode(),
        "client_email": "reader@shop-prod.iam.gserviceaccount.com", "client_id": "1", "token_uri": google.url,
    }))  # fmt: skip
    return path


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of its own that knows the tokens."""
    file = tmp_path_factory.mktemp("tokens") / "tokens.csv"
    users = enumerate(("reader@shop-prod.iam", "second@shop-prod.iam"))
    file.write_text("".join(f'{TOKENS[n]},{user},{n},"system:masters"\n' for n, user in users))
    with ControlPlane((f"--token-auth-file={file}",)) as made:
        yield made


def config(plane: ControlPlane, folder: Path, users: dict[str, dict[str, Any]], **cluster: object) -> Path:
    """A context, a cluster and a user of each name, as gcloud writes them."""
    authority = base64.b64encode((plane.folder / "ca.crt").read_bytes()).decode()
    server = {"server": plane.url, "certificate-authority-data": authority} | cluster
    path = folder / "config"
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(users)),
        "clusters": [{"name": name, "cluster": {k: v for k, v in server.items() if v is not None}} for name in users],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in users],
    }))  # fmt: skip
    return path


PLUGIN_USER = {
    "exec": {
        "apiVersion": "client.authentication.k8s.io/v1beta1", "command": "gke-gcloud-auth-plugin",
        "provideClusterInfo": True, "interactiveMode": "Never",
    }
}  # fmt: skip


class Session:
    """Calls of one server, and everything that it said."""

    def __init__(self, call: tools.Call) -> None:
        self._call = call
        self.said = ""

    def __call__(self, tool: str, /, **arguments: object) -> Any:
        result = self._call(tool, **arguments)
        self.said += f"{result.meta}{clients.whole(result)}\n"
        return result

    def who(self, cluster: str = NAME) -> str:
        """Who the API server takes us for."""
        return clients.text(self("evaluate_script", script=f"k8s = k8s.context({cluster!r})\n{WHO}"))


@contextlib.contextmanager
def serving(path: Path, *flags: str, **environment: str) -> Iterator[Session]:
    """A server that is asked with these variables. Whatever it says or logs, no token is in it."""
    flags = ("--toolsets", "cluster,code", "--kubeconfig", str(path), "--log-level", "debug", *flags)
    # Without the machine's own programs and home: a test must not find a developer's Google account.
    folder = str(path.parent)
    alone = {"PATH": folder, "HOME": folder, "CLOUDSDK_CONFIG": folder, "NO_GCE_CHECK": "true"}
    parameters = clients.server(flags, **(alone | {"XDG_CACHE_HOME": clients.CACHE} | environment))
    with tempfile.TemporaryFile("w+") as heard, start_blocking_portal() as portal:
        client: Client
        with portal.wrap_async_context_manager(Client(stdio_client(parameters, heard))) as client:
            session = Session(lambda tool, /, **arguments: portal.call(client.call_tool, tool, arguments))
            yield session
        heard.seek(0)
        log = heard.read()
    for secret in (*TOKENS, "eyJhbGciOi"):
        assert secret not in session.said
        assert secret not in log


def plugin(folder: Path, token: str) -> str:
    """A stand-in for GKE's plugin; returns the PATH of its folder."""
    program = folder / "bin" / "gke-gcloud-auth-plugin"
    program.parent.mkdir()
    program.write_text(f"""#!{sys.executable}
import json, os
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {{"token": {token!r}, "expirationTimestamp": "2099-01-01T00:00:00Z"}}
print(json.dumps({{"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": status}}))
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program.parent)


# --- logging in ---


@pytest.mark.parametrize("user", [{}, PLUGIN_USER], ids=["no credentials", "a plugin that is not there"])
def test_a_cluster_is_logged_in_to_through_google_auth(
    user: dict[str, Any], plane: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Every call after that is made as Google's user; the token is asked for once, and is in no record."""
    path, audit = config(plane, tmp_path, {NAME: user}), tmp_path / "audit.jsonl"
    variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
    with serving(path, "--audit", str(audit), **variables) as call:
        assert call("evaluate_script", script="len(k8s.coreV1().list_namespace())").is_error
        told = tools.text(call("gke_auth", cluster=NAME))
        assert told.startswith(f"logged in to {NAME} as reader@shop-prod.iam (Kubernetes v1.")
        assert call.who() == "reader@shop-prod.iam"
        assert tools.text(call("evaluate_script", script="len(k8s.coreV1().list_namespace()) > 0")) == "true"
    assert google.asked == 1
    assert TOKENS[0] not in audit.read_text()
    assert [each["resource"] for each in trails.records(audit, "call")].count("selfsubjectreviews") == 2


def test_a_login_is_not_verified_where_nobody_asks_for_it(
    plane: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Google gave a token, and the cluster was not asked."""
    path, audit = config(plane, tmp_path, {NAME: {}}), tmp_path / "audit.jsonl"
    with serving(path, "--audit", str(audit), GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert tools.text(call("gke_auth", cluster=NAME, verify=False)).startswith(f"logged in to {NAME}; verify=true")
        assert google.asked == 1
        assert trails.records(audit, "call") == []
        assert call.who() == "reader@shop-prod.iam"


def test_a_token_is_replaced_before_it_expires(
    plane: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """The next call has the next token."""
    google.lives_s = 30
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        tools.text(call("gke_auth", cluster=NAME, verify=False))
        google.lives_s = 3600
        assert [call.who(), call.who()] == ["second@shop-prod.iam"] * 2
    assert google.asked == 2


def test_a_token_that_the_cluster_refuses_is_replaced(
    plane: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """A session of the account that was ended early: the 401 brings a new token."""
    google.answers = ["ya29.ended", TOKENS[1]]
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert "as second@shop-prod.iam" in tools.text(call("gke_auth", cluster=NAME))
        google.answers = ["ya29.ended"]
        assert call.who() == "second@shop-prod.iam"


def test_the_plugin_is_used_where_google_auth_has_no_credentials(plane: ControlPlane, tmp_path: Path) -> None:
    """As kubectl uses it."""
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, PATH=plugin(tmp_path, TOKENS[1])) as call:
        assert "as second@shop-prod.iam (Kubernetes" in tools.text(call("gke_auth", cluster=NAME))
        assert call.who() == "second@shop-prod.iam"


def test_the_region_replaces_the_location_in_the_id(plane: ControlPlane, account: Path, tmp_path: Path) -> None:
    """The cluster that is named so must be one of the server's."""
    other = "gke_shop-prod_us-east1_one"
    path = config(plane, tmp_path, {NAME: {}, other: {}})
    flags = ("--contexts", f"{NAME},{other}")
    with serving(path, *flags, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert f"logged in to {other} as" in tools.text(call("gke_auth", cluster=NAME, region="us-east1"))
        assert call.who(other) == "reader@shop-prod.iam"
        assert call.who(NAME) != "reader@shop-prod.iam"
        unknown = call("gke_auth", cluster=NAME, region="asia-east1")
        assert "this server has no cluster gke_shop-prod_asia-east1_one" in clients.whole(unknown)
        bad = call("gke_auth", cluster=NAME, region="a_b")
        assert clients.whole(bad) == "Error: region is a location such as europe-west1 or europe-west1-b, not a_b"


# --- what is refused ---

WITHOUT_LIBRARY = "raise ImportError"


def test_without_library_and_plugin_the_prerequisite_is_told(plane: ControlPlane, tmp_path: Path) -> None:
    """In the contract's form: what is missing, and how to get it."""
    package = tmp_path / "path" / "google" / "auth"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(WITHOUT_LIBRARY)
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, PYTHONPATH=str(tmp_path / "path")) as call:
        told = call("gke_auth", cluster=NAME)
        assert told.is_error
        assert clients.whole(told) == (
            "Error: prerequisite check failed\n\n"
            "Details: google-auth is not installed; gke-gcloud-auth-plugin is not on the server's PATH\n\n"
            "Suggested action: on the server's machine: pip install 'kubescript[gke]' and gcloud auth "
            "application-default login, or install gke-gcloud-auth-plugin and gcloud auth login"
        )
        meta = {name: told.meta[name] for name in ("errorType", "cluster", "tool", "requiresAction")}
        assert meta == {"errorType": "PrerequisiteError", "cluster": NAME, "tool": "gke_auth", "requiresAction": True}
    with serving(path, KUBESCRIPT_LANGUAGE="zh") as call:
        told = call("gke_auth", cluster=NAME)
        assert clients.whole(told).startswith("錯誤: 前置條件檢查失敗\n\n錯誤詳情: google-auth 找不到")


def test_a_login_that_google_refuses_is_told_without_its_words(
    plane: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Google's error quotes what was sent. The next login works."""
    google.answers = ["", TOKENS[0]]
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert "google-auth got no token (RefreshError)" in clients.whole(call("gke_auth", cluster=NAME))
        assert "as reader@shop-prod.iam" in tools.text(call("gke_auth", cluster=NAME))


def test_a_google_account_that_the_cluster_does_not_know_is_told(
    plane: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Logging in again would not help, so the advice is another."""
    google.answers = ["ya29.nobody"]
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        told = call("gke_auth", cluster=NAME)
    assert told.is_error
    assert "the cluster refuses Google's token" in clients.whole(told)
    assert told.meta["suggestion"].startswith(f"give the Google account access to {NAME}")


def test_other_credentials_stay_as_they_are(plane: ControlPlane, account: Path, google: Google, tmp_path: Path) -> None:
    """A token of the kubeconfig, another plugin, a cluster without credentials whose name is not gcloud's."""
    users: dict[str, dict[str, Any]] = {
        "own": {"token": TOKENS[1]},
        "other": {"exec": PLUGIN_USER["exec"] | {"command": "aws"}},
        "bare": {},
    }
    path = config(plane, tmp_path, users)
    variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
    with serving(path, "--contexts", ",".join(users), **variables) as call:
        for name in users:
            refused = call("gke_auth", cluster=name)
            assert refused.is_error
            assert f"other credentials for {name} than GKE's" in clients.whole(refused)
        assert call.who("own") == "second@shop-prod.iam"
    assert google.asked == 0


def test_a_saved_cluster_needs_no_login(tmp_path: Path) -> None:
    """It says so."""
    file = trails.snapshot(tmp_path)
    with tools.calling("--snapshot", str(file), toolsets="cluster,code") as call:
        name = clients.text(call("evaluate_script", script="ctx.name"))
        assert "is a saved cluster" in clients.whole(call("gke_auth", cluster=name))


# --- whom the token is sent to ---


def test_googles_token_is_sent_to_a_proven_server_only(plane: ControlPlane, account: Path, tmp_path: Path) -> None:
    """Attack: a cluster whose certificate nobody verifies, or without TLS, would collect a token for all of Google's
    cloud."""
    listener = Server()
    variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
    unverified = {"insecure-skip-tls-verify": True, "certificate-authority-data": None}
    with contextlib.closing(listener):
        for cluster in ({"server": listener.url}, unverified):
            path = config(plane, tmp_path, {NAME: {}}, **cluster)
            with serving(path, **variables) as call:
                refused = call("gke_auth", cluster=NAME)
                assert refused.is_error
                assert "over https with a verified certificate only" in clients.whole(refused)
                assert call.who() not in {"reader@shop-prod.iam", "second@shop-prod.iam"}
    assert not any("uthorization" in each for each in listener.requests)
    path = config(plane, tmp_path, {NAME: {}})
    with serving(path, **variables) as call:
        assert "logged in" in tools.text(call("gke_auth", cluster=NAME))
