"""Servers that are killed at a chosen point of what they do with plans: before a statement to the store, before a
request is sent, before its answer is read, before the end is put on record.

`main` is the command line, which dies at the point that $DIES_AT names: `answer 3` is the third answer that is waited
for. `Deaths` forks a process for each death from one that has made everything ready, since that takes a second.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import kubernetes.config  # noqa: F401 - each process would import it
import sqlalchemy.dialects.sqlite  # noqa: F401 - likewise
from urllib3 import connection

from kubescript import app, config, programs, types
from kubescript.audit import recorder
from kubescript.changes import application, planning, recovery
from kubescript.changes.store import store
from kubescript.changes.writer import WritableAccess
from kubescript.cluster import connections, http, live  # noqa: F401 - likewise
from kubescript.request import request
from kubescript_masking.host import pool
from kubescript_sandbox.host import spawner
from tests.kit import paths
from tests.kit.processes import CONTEXT

DIES_AT: Final = "DIES_AT"
Reached = Callable[[str], None]
"""Told of each point that is reached, by its name."""


def plant(reached: Reached) -> None:
    """Has each point tell its name. Whoever dies there has done all that comes before it, and nothing that comes after
    it. Reads are no points: they have no effect."""
    store.Store.add = _then(store.Store.add, reached, "add")  # type: ignore[method-assign]
    for owner, name in ((store.Store, "claim"), (store.Store, "mark"), (store.Store, "finish")):
        setattr(owner, name, _first(getattr(owner, name), reached, name))
    recorder.Recorder.record_application = _first(recorder.Recorder.record_application, reached, "applied")  # type: ignore[method-assign]
    _plant_in_requests(reached)


def _plant_in_requests(reached: Reached) -> None:
    """`try`: before a dry run. `send`, `answer`: before a write is sent, and once it is, before its answer is read."""
    sending = threading.local()
    perform, get_response = live.Live.perform, connection.HTTPConnection.getresponse

    def performed(self: live.Live, call: request.Request, *arguments: Any) -> types.Response:
        sending.now = call.method != "GET" and not call.dry_run
        if call.method != "GET":
            reached("try" if call.dry_run else "send")
        return perform(self, call, *arguments)

    def answered(self: connection.HTTPConnection) -> Any:
        if sending.now:
            reached("answer")
        return get_response(self)

    live.Live.perform = performed  # type: ignore[assignment, method-assign]
    connection.HTTPConnection.getresponse = answered  # type: ignore[method-assign]


def _first(original: Callable[..., Any], reached: Reached, name: str) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        reached(name)
        return original(*arguments)

    return watched


def _then(original: Callable[..., Any], reached: Reached, name: str) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        original(*arguments)
        reached(name)

    return watched


def die() -> None:
    """Ends this process as nobody can prevent."""
    os.kill(os.getpid(), signal.SIGKILL)


def no_lease() -> None:
    """Has whoever comes next take a plan for abandoned at once, and not after a minute."""
    application._LEASE_S = 0.0  # type: ignore[misc]


def main() -> None:
    """The command line."""
    seen: Counter[str] = Counter()

    def reached(name: str) -> None:
        seen[name] += 1
        if f"{name} {seen[name]}" == os.environ.get(DIES_AT):
            die()

    plant(reached)
    no_lease()
    from kubescript.cli import main as cli

    cli.main()


def program(folder: Path) -> str:
    """A program that is `kubescript`, and dies."""
    root = paths.ROOT
    file = folder / "kubescript"
    file.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
        "from tests.kit import kill_points\nkill_points.main()\n"
    )
    file.chmod(0o700)
    return str(file)


@dataclass(frozen=True)
class Life:
    """What became of one process."""

    was_killed: bool
    points: tuple[str, ...]
    """Those that it has reached."""


class Deaths:
    """Processes that apply plans, and die."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests

    def apply(self, plan: str, dies_at: int = 0) -> Life:
        """Applies an approved plan; dies at the nth point."""
        return self._live(plan, dies_at)

    def recover(self) -> Life:
        """What a server does at its start."""
        return self._live("", 0)

    def _live(self, plan: str, dies_at: int) -> Life:
        self._requests.send((plan, dies_at))
        answer = self._requests.recv()
        assert isinstance(answer, Life), answer
        return answer


@contextlib.contextmanager
def opened(settings: config.Settings, audit: Path) -> Iterator[Deaths]:
    """Processes of a server with these settings, and this audit file."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(settings, audit, theirs))
    process.start()
    theirs.close()
    try:
        yield Deaths(ours)
    finally:
        ours.close()
        process.join()


def _serve(settings: config.Settings, audit: Path, requests: Connection) -> None:
    """In a process of its own: forks one process after another, until nobody asks for more."""
    no_lease()
    pool._USES = 1_000_000  # type: ignore[misc]  # the processes share one masker, and cannot have another started
    source = spawner.Spawner(programs.WORKER)
    with contextlib.closing(source), app.opened(settings, source) as parts:
        parts.redaction.prepare()
        while True:
            try:
                plan, dies_at = requests.recv()
            except EOFError:
                return
            requests.send(_forked(parts, audit, plan, dies_at))


def _forked(parts: app.Application, audit: Path, plan: str, dies_at: int) -> Life:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _live(parts, audit, plan, dies_at, writer)
    os.close(writer)
    with os.fdopen(reader) as told:
        points = tuple(told.read().split())
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}, (code, points)
    return Life(code != 0, points)


def _live(parts: app.Application, audit: Path, plan: str, dies_at: int, writer: int) -> None:
    """A process from its birth to its end. It has store, connections and audit record of its own."""
    code = 1
    try:
        count = 0

        def reached(name: str) -> None:
            nonlocal count
            count += 1
            os.write(writer, f"{name} ".encode())
            if count == dies_at:
                die()

        plant(reached)
        ledger = recorder.open_recorder(config.Audit(file=audit), parts.redaction.text_or_withheld)
        access = parts.operator.contexts.default
        assert isinstance(access, WritableAccess)
        approvals = planning.Planning(
            parts.settings, {"": access}, ledger, recovery.Keeper(parts.settings.plans)
        ).approvals
        if plan:
            approvals.apply(plan, lambda _done, _count, _text: None)
        else:
            approvals.recover()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
