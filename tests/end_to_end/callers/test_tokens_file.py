"""auth.tokens_file of a server that runs: a slip in one line costs that line's caller alone, and is seen."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from kubescript import errors
from kubescript.auth import tokens_file
from kubescript.cli import demo
from kubescript.transports import ending, status
from tests.kit import http_server, patience

TOKENS: Final = {name: secrets.token_hex(32) for name in ("alice", "bob", "carol", "dave")}


def line(name: str, after: str = ",") -> str:
    """The line of a caller, with a digest and what follows it."""
    return f'sha256:{hashlib.sha256(TOKENS[name].encode()).hexdigest()}{after}{name},u-{name},"platform"\n'


class Served:
    """A server and its file."""

    def __init__(self, port: int, file: Path) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self.file = file

    def write(self, text: str) -> None:
        """Replaces the file, of which the server never sees a half."""
        new = self.file.with_suffix(".new")
        new.write_text(text)
        new.chmod(0o600)
        new.replace(self.file)

    def get(self, path: str, token: str = TOKENS["carol"]) -> httpx2.Response:
        """What the caller with this token is answered."""
        return httpx2.get(f"{self._url}/{path}", headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def takes(self, token: str) -> bool:
        """Whether a token lets its caller in."""
        return self.get("info", token).status_code == 200

    def lets_in(self) -> set[str]:
        """The callers who are."""
        return {name for name, token in TOKENS.items() if self.takes(token)}

    def found(self) -> Any:
        """What /ready says of the callers; it has a status, too."""
        ready = self.get("ready")
        return ready.status_code, ready.json()["checks"]["callers"]

    def ok(self) -> bool:
        """Whether the metric says so."""
        return 'kubescript_check_ok{check="callers"} 1.0' in self.get("metrics").text


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """One that looks more often than usual, and ends at once."""
    monkeypatch.setattr(status, "_READY_S", 0.1)
    monkeypatch.setattr(status, "_METRICS_S", 0.1)
    monkeypatch.setattr(ending, "_TICKS", 0)  # no balancer asks /ready
    monkeypatch.setattr(tokens_file, "_LOOK_S", 0.1)
    file = tmp_path / "tokens.csv"
    file.write_text(line("alice") + line("bob") + line("carol"))
    file.chmod(0o600)
    with http_server.serving(flags(file)) as port:
        yield Served(port, file)


def flags(file: Path) -> tuple[str, ...]:
    """Those of a server with this file."""
    settings = file.with_name("server.toml")
    settings.write_text(f'toolsets = ["code"]\n[auth]\ntokens_file = "{file}"\n')
    return "--snapshot", str(demo.SNAPSHOT), "--config", str(settings)


@pytest.mark.parametrize(
    "slip",
    [line("bob", " "), line("bob")[:-2] + "\n", line("bob") * 2, line("bob")[:-1] + ",payments\n"],
    ids=("a space", "an open quote", "twice", "a field too many"),
)
def test_a_slip_costs_its_own_caller_alone(served: Served, caplog: pytest.LogCaptureFixture, slip: str) -> None:
    """A caller whose line is gone is locked out by the same edit, a new one is let in; the line is named, not its content."""
    assert served.lets_in() == {"alice", "bob", "carol"}
    assert served.found() == (200, "ok") and served.ok()
    served.write(line("carol") + slip + line("dave"))
    patience.until(lambda: served.lets_in() == {"carol", "dave"})
    patience.until(lambda: served.found()[1] != "ok")
    code, said = served.found()
    assert code == 200 and f"{served.file}, line " in said
    patience.until(lambda: not served.ok())
    (logged,) = [record.message for record in caplog.records if "lets nobody in" in record.message]
    assert logged.startswith(said)
    assert line("bob")[7:20] not in logged and "u-bob" not in logged
    served.write(line("carol") + line("bob"))
    patience.until(lambda: served.lets_in() == {"carol", "bob"})
    patience.until(lambda: served.found() == (200, "ok") and served.ok())


def test_two_tokens_of_one_caller_stand_side_by_side(served: Served) -> None:
    """So a token is replaced without a gap: the older one counts until its line is gone."""
    newer = secrets.token_hex(32)
    added = f'{newer},alice,u-alice,"platform"\n'
    served.write(line("alice") + added)
    patience.until(lambda: served.takes(newer))
    assert served.takes(TOKENS["alice"])
    served.write(added)
    patience.until(lambda: not served.takes(TOKENS["alice"]))
    assert served.takes(newer)


def test_a_server_does_not_start_with_a_slip(tmp_path: Path) -> None:
    """The file and the lines are named; the mended file serves."""
    file = tmp_path / "tokens.csv"
    file.write_text(line("alice") + line("bob", " ") + "# a comment\n" + f"sha256:{'A' * 64},bob\n")
    with pytest.raises(errors.ConfigError) as refused, http_server.serving(flags(file)):
        pass
    assert f"{file}, line 2: " in refused.value.message and f"{file}, line 4: " in refused.value.message
    file.write_text(line("alice"))
    with http_server.serving(flags(file)) as port:
        assert Served(port, file).lets_in() == {"alice"}
