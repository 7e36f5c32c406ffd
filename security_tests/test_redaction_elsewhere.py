"""Every way in beside bodies of 200, and the last look at what goes out: error bodies, reason phrases, headers, warnings.

A small HTTP server says a token wherever an API server can say anything.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import orjson
import pytest

from kubescript import app, config
from kubescript.cli import demo
from kubescript_sandbox.host import spawner
from security_tests.redaction import corpus, engine, judge, planted
from security_tests.redaction.asking import asked
from tests.kit import commands, extent

Count = Callable[[int], None]


TOKEN = planted.VALUES["token"]


class Rude:
    """An API server that says a token wherever it can."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.answer = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                with sock, contextlib.suppress(OSError):
                    sock.recv(65536)
                    sock.sendall(self.answer)

    def close(self) -> None:
        self._listener.close()

    def says(self, status: str, headers: str, body: bytes) -> None:
        """The next answers."""
        self.answer = (
            f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
        )


JSON = "Content-Type: application/json\r\n"
POD = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}'
SAYINGS = {
    "reason phrase": (f"403 no {TOKEN}", JSON, b"{}"),
    "warning": ("200 OK", JSON + f'Warning: 299 - "field x is old: password={planted.VALUES["strong"]} {TOKEN}"\r\n', POD),
    "audit id": ("200 OK", JSON + f"Audit-Id: {TOKEN}\r\n", POD),
    "content type": ("200 OK", f"Content-Type: text/{TOKEN}\r\n", b"x"),
    "retry after": ("429 Too Many", JSON + f"Retry-After: {TOKEN}\r\n", b"{}"),
    "text body": ("500 Internal", "Content-Type: text/plain\r\n", f"dial failed: token {TOKEN} refused\n".encode()),
    "HTML body": ("502 Bad", "Content-Type: text/html\r\n", f"<p>{TOKEN}</p>".encode()),
    "Status body": ("500 Internal", JSON, json.dumps({"kind": "Status", "status": "Failure", "message": f"webhook denied: {TOKEN}", "code": 500}).encode()),
    "body that breaks off": ("200 OK", JSON, b'{"kind":"PodList","items":[{"metadata":{"name":"' + TOKEN[:36].encode()),
    "not HTTP": (f"{TOKEN} x", "", b""),
    "redirect": ("302 Found", f"Location: https://x/{TOKEN}\r\n", b""),
}  # fmt: skip
SAID = """
out = []
try:
    got = k8s.coreV1().list_namespaced_pod_with_http_info('default')
    out.append(str(got))
    out += [str(part) for part in got]
except Exception as error:
    out += [str(error), str(getattr(error, 'body', '')), str(getattr(error, 'reason', '')), str(getattr(error, 'headers', ''))]
print('|'.join(out))
'|'.join(out)[::-1]
"""


@pytest.mark.promise("S-08")
@pytest.mark.parametrize("name", SAYINGS)
def test_everything_an_api_server_says(
    name: str, source: spawner.Spawner, tmp_path: Path, capfd: pytest.CaptureFixture[str], attacks: Count
) -> None:
    """A token in a reason phrase, a header, a warning or a body of any type reaches neither script, answer nor log."""
    attacks(1)
    server = Rude()
    server.says(*SAYINGS[name])
    users = {
        "users": [{"name": "u", "user": {"token": "x"}}],
        "contexts": [{"name": "r", "context": {"cluster": "c", "user": "u"}}],
    }
    clusters = {
        "current-context": "r",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.port}"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **clusters, **users}))
    try:
        with app.opened(config.Settings(kubeconfig=path), source) as parts:
            answered = asked(parts.operator.evaluator)(SAID)
            assert asked(parts.operator.evaluator)("6 * 7").text == "42"
    finally:
        server.close()
    assert answered.text
    assert planted.leaked(answered.text) == [], answered
    out, err = capfd.readouterr()
    assert planted.leaked(out + err) == []


@pytest.mark.sampled
@pytest.mark.promise("S-04", "S-08")
def test_results_stay_json_when_masked_again(attacks: Count) -> None:
    """The last look at a result on its way out leaves it valid JSON, whatever it holds."""
    masking = engine.fresh()
    documents = [
        one for one in (*corpus.main(), *corpus.held_out(), *corpus.third(), *corpus.fourth()) if one.form == "json"
    ]
    attacks(len(documents))
    for number, document in enumerate(documents):
        results = (
            orjson.dumps(orjson.loads(document.body)).decode(),
            json.dumps(document.body.decode()),
            json.dumps(list(judge.texts(document.body))[:20]),
        )
        for result in results if extent.LONG else results[number % 3 : number % 3 + 1]:
            orjson.loads(masking.text(result, lambda _: None))


RECEIVER: Final = "http://collector:Tr0ub4dor-and-3@127.0.0.1:4318"
REPORTS: Final = ((), ("--json",))


@pytest.mark.promise("S-08")
def test_what_doctor_says_holds_no_password_of_the_environment(tmp_path: Path, attacks: Count) -> None:
    """The line that tells a client of the server names the variables that it needs, and such a report goes into
    tickets. What `client` prints is for the client, and whole."""
    own = {"HOME": str(tmp_path), "KUBESCRIPT_TELEMETRY__OTLP_ENDPOINT": RECEIVER}
    own["XDG_CACHE_HOME"] = str(engine.DIRECTORY.parents[1])  # where compiled rules are

    def said(*words: str) -> str:
        return commands.run(*words, "--snapshot", str(demo.SNAPSHOT), environment=own).stdout

    attacks(len(REPORTS))
    for form in REPORTS:
        report = said("doctor", "--offline", *form)
        assert "OTLP_ENDPOINT=http://PASSWORD@127.0.0.1:4318" in report and "Tr0ub4dor" not in report
    assert RECEIVER in said("client", "claude-code")
