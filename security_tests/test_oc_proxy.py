"""Each hostile command line of oc_lines.txt with nobody to check its arguments: the real kubectl runs it as the server's
account, who may do everything, on a cluster whose mode is `direct`, and the proxy alone keeps the cluster and its
secrets."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import time
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from kubescript import app, config, programs, types
from kubescript.broker import operation, summary
from kubescript.commands import confined_process, processes, proxy
from kubescript.wire import exchanges, orders
from kubescript_safety.controlplane import audit
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation, conversation, spawner
from security_tests import oc_lines
from tests.kit import fork_servers, kubectl
from tests.kit.controlplane import fixture
from tests.kit.controlplane.fixture import facts
from tests.kit.controlplane.server import ControlPlane

pytestmark = pytest.mark.timeout(600)

AT_ONCE: Final = 4
SECONDS: Final = 20.0
"""For a line that ends by itself. One that is ended earlier has had its time to do harm."""
ENDLESS_SECONDS: Final = 1.5
"""For one that does not."""
ENDLESS: Final = re.compile(r"-w|-f|.*watch.*|--follow|proxy|port-forward|wait|.*range \$\.items.*")
MANY: Final = 1_000
"""A line of so many arguments makes as many requests."""
LINES: Final = [line for line in oc_lines.lines() if line.arguments is not None]
PLACES: Final = ("/", "/tmp", "/var/tmp", "/dev/shm", "/root", "/.kube", "/root/.kube", str(Path.cwd()))


@dataclass
class Ran:
    """What became of the lines."""

    outputs: dict[str, confined_process.Output] = field(default_factory=dict)
    calls: int = 0
    """Requests that the proxy was asked."""
    writes: list[audit.Event] = field(default_factory=list)
    """What the API server says of them."""
    files: set[str] = field(default_factory=set)
    """Those that are there now and were not before."""
    seconds: float = 0.0
    works: bool = False
    """Whether an ordinary line is answered after all."""


class Unchecked:
    """Runs command lines without `allow_write` by the parts of a server, but for the one that looks at arguments."""

    def __init__(self, application: app.Application, settings: config.Settings) -> None:
        self._contexts = application.operator.contexts
        self._processes = processes.Processes(settings)
        self.close = self._processes.close

    def run(self, arguments: list[str]) -> tuple[confined_process.Output, int]:
        """Returns what a line has written, and how many requests it has made."""
        is_endless = len(arguments) > MANY or any(map(ENDLESS.fullmatch, arguments))
        seconds = ENDLESS_SECONDS if is_endless else SECONDS
        limits = runs.Limits(timeout_ms=int(seconds * 1000), memory_bytes=512 << 20)
        notes, switch = summary.Summary(), cancellation.Cancellation()

        def on_call(call: exchanges.Call, left: float) -> tuple[exchanges.Reply, types.Response | None]:
            return self._contexts.handle(call, operation.Operation(notes, cancellation=switch), left)

        job = conversation.Job(
            "", limits, exchanges.Parameters("default", self._contexts.names[0]), on_call, cancellation=switch
        )
        order = orders.OpenShiftOrder(arguments, str(kubectl.program()), "default")
        deadline = time.monotonic() + seconds
        with confined_process.start(self._processes.start("openshift", limits), order, strict=True) as running:
            assert running.way_out is not None
            asked = proxy.Proxy(running.way_out, job, deadline)
            with asked.serving():
                return running.read(deadline, 4 << 20), asked.calls


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """All lines, each once."""
    log = audit.Log(tmp_path_factory.mktemp("proxy"))
    found = Ran()
    with ControlPlane(log.flags()) as plane, contextlib.ExitStack() as held:
        fixture.load(plane.kubeconfig)
        kubeconfig = plane.kubeconfig_for("anybody", ("system:masters",))
        settings = config.Settings.model_validate(
            {"kubeconfig": kubeconfig, "toolsets": ("openshift",), "writes": "direct"}
        )
        source = spawner.Spawner(programs.WORKER)
        source.start()
        held.callback(source.close)
        unchecked = Unchecked(held.enter_context(app.opened(settings, source, fork_servers.Maskers())), settings)
        held.callback(unchecked.close)
        before, began = files(), time.monotonic()
        with futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for line, (output, calls) in zip(LINES, pool.map(unchecked.run, map(_arguments, LINES)), strict=True):
                found.outputs[line.source] = output
                found.calls += calls
        found.seconds = time.monotonic() - began
        found.files = files() - before
        log.settle(plane)
        found.writes = log.writes("anybody")
        found.works = unchecked.run(["get", "ns", "shop", "-o", "name"])[0].stdout == "namespace/shop\n"
        yield found


def _arguments(line: oc_lines.Line) -> list[str]:
    assert line.arguments is not None
    return line.arguments


def files() -> set[str]:
    """What is in the places where a command could write; where others write too, only what is nobody's."""
    found = set()
    for place in PLACES:
        with contextlib.suppress(OSError):
            for each in os.scandir(place):
                with contextlib.suppress(OSError):
                    if not place.startswith(("/tmp", "/var/tmp", "/dev/shm")) or each.stat().st_uid == 65534:
                        found.add(each.path)
    return found


def forms(value: str) -> dict[str, str]:
    """A value in the ways in which a template can write it, without blanks and in small letters."""
    data = value.encode()
    written = {
        "clear": value,
        "hex": data.hex(),
        "escaped": "".join(f"\\x{byte:02x}" for byte in data),
        "byte by byte": "".join(f"0x{byte:02x}" for byte in data),
        "decimal": "".join(str(byte) for byte in data),
        "decimal with commas": ",".join(str(byte) for byte in data),
        "octal": "".join(f"{byte:o}" for byte in data),
        "binary": "".join(f"{byte:08b}" for byte in data),
        "short binary": "".join(f"{byte:b}" for byte in data),
        "code points": "".join(f"u+{byte:04x}" for byte in data),
        "quoted letters": "".join(f"'{chr(byte)}'" for byte in data),
    }
    for shift in range(3):  # base64 of a text in which it stands somewhere
        coded = base64.b64encode(b"\0" * shift + data).decode()
        inner = coded[4 if shift else 0 : len(coded) // 4 * 4 - 4]
        written[f"base64 at {shift}"] = inner
        written[f"base64 of base64 at {shift}"] = base64.b64encode(inner.encode()).decode().rstrip("=")[:-2]
    return {name: text.lower() for name, text in written.items()}


@pytest.mark.promise("X-06")
def test_nothing_of_the_cluster_was_changed(ran: Ran) -> None:
    """The API server's own log has questions about rights and dry runs, and nothing else that is no read."""
    print(f" {len(LINES)} lines, {ran.calls} requests, {ran.seconds:.0f} s", end="")
    assert len(LINES) >= 300 and ran.calls > len(LINES)
    assert [event.line for event in ran.writes if "/selfsubject" not in event.path] == []
    assert sum(not output.is_over for output in ran.outputs.values()) > 0.9 * len(LINES)
    assert ran.works


@pytest.mark.promise("X-07")
def test_no_secret_of_the_cluster_was_printed(ran: Ran) -> None:
    """In clear, base64, hexadecimal, or as any template writes it; what is not secret was printed."""
    wanted = forms(facts.CANARY.rstrip("-"))
    assert "aHVudGVyMi1jYW5hcnk".lower().startswith(wanted["base64 at 0"])
    for source, output in ran.outputs.items():
        text = "".join((output.stdout + output.stderr).split()).lower()
        assert [name for name, form in wanted.items() if form in text] == [], source
    assert any("storefront" in output.stdout for output in ran.outputs.values())
    assert any("redacted:" in output.stdout for output in ran.outputs.values())


@pytest.mark.promise("X-02")
def test_no_file_of_this_machine_was_made(ran: Ran) -> None:
    """Whatever the lines name as a place for their output."""
    assert ran.files == set()
