"""TLS of the http transport, with a real client: files that change, and callers who are named by a certificate."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from kubescript.transports import tls
from kubescript_safety.controlplane import pki
from tests.kit import http_server, patience, trails

RULES = """
[[access]]
groups = ["platform"]
toolsets = ["code"]
"""


@pytest.fixture(scope="module")
def authority() -> pki.Authority:
    return pki.Authority()


@contextlib.contextmanager
def serving(folder: Path, authority: pki.Authority, *flags: str, more: str = "") -> Iterator[int]:
    """A server with a certificate of this authority, which asks for those of its callers."""
    authority.serving(["localhost"], ["127.0.0.1"]).write(folder, "server")
    (folder / "ca.crt").write_bytes(authority.certificate)
    settings = folder / "settings.toml"
    settings.write_text(
        f'[tls]\ncert_file = "{folder}/server.crt"\nkey_file = "{folder}/server.key"\n'
        f'client_ca_file = "{folder}/ca.crt"\n{more}'
    )
    snapshot = str(trails.snapshot(folder))
    given = ["--toolsets", "code", "--snapshot", snapshot, "--config", str(settings), *flags]
    with http_server.serving(given) as port:
        yield port


def secure(authority: pki.Authority, folder: Path, user: str = "", groups: Sequence[str] = ()) -> httpx2.Client:
    """A client that trusts the authority, with a certificate where it has a name."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    if user:
        authority.client(user, tuple(groups)).write(folder, user)
        context.load_cert_chain(folder / f"{user}.crt", folder / f"{user}.key")
    return httpx2.Client(verify=context, timeout=30, trust_env=False)


def called(client: httpx2.Client, port: int) -> httpx2.Response:
    params = {"name": "evaluate_script", "arguments": {"script": trails.COUNT}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return client.post(f"https://127.0.0.1:{port}/mcp", json=call, headers={"accept": "application/json"})


def test_a_certificate_names_its_caller(authority: pki.Authority, tmp_path: Path) -> None:
    """The common name is the user and the organizations are groups, on record and in the rules; a certificate of
    another authority, and none, let nobody in."""
    audit = tmp_path / "audit.jsonl"
    with serving(tmp_path, authority, "--audit", str(audit), more=RULES) as port:
        with secure(authority, tmp_path, "ann", ["platform"]) as client:
            assert called(client, port).json()["result"]["content"][0]["text"].startswith("1")
        with secure(authority, tmp_path, "guest", ["others"]) as client:
            assert called(client, port).status_code == 403
        with secure(authority, tmp_path) as client:
            assert called(client, port).status_code == 401
        stranger = pki.Authority().client("ann", ("platform",))
        stranger.write(tmp_path, "stranger")
        context = ssl.create_default_context(cadata=authority.certificate.decode())
        context.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")
        with httpx2.Client(verify=context, trust_env=False, timeout=60) as client, pytest.raises(httpx2.HTTPError):
            called(client, port)
        with secure(authority, tmp_path, "ann", ["platform"]) as client:
            assert called(client, port).status_code == 200
    users = {record["user"] for record in map(json.loads, audit.read_text().splitlines()) if record["type"] == "call"}
    assert users == {"ann"}


def test_a_renewed_certificate_is_served_without_a_restart(
    authority: pki.Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While half of it is written, the one of before is."""
    monkeypatch.setattr(tls, "_LOOK_S", 0.05)
    with serving(tmp_path, authority) as port:
        first = shown(authority, port)
        whole = authority.serving(["localhost"], ["127.0.0.1"])
        pki.write_private(tmp_path / "server.crt", whole.certificate)
        patience.until(lambda: "the one of before is served" in caplog.text)  # it does not belong to the key
        assert shown(authority, port) == first
        pki.write_private(tmp_path / "server.key", whole.key)
        patience.until(lambda: shown(authority, port) != first)
        assert shown(authority, port) == ssl.PEM_cert_to_DER_cert(whole.certificate.decode())


def shown(authority: pki.Authority, port: int) -> bytes | None:
    """The certificate that a new connection gets."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as wrapped,
    ):
        return wrapped.getpeercert(binary_form=True)
