"""Servers that are killed, or stopped for a while, at a chosen point of what they do with plans: before a statement to
the store, before a request is sent, before its answer is read, before the end is put on record.

`main` is the command line, which dies at the point that $DIES_AT names: `answer 3` is the third answer that is waited
for. At $STOPS_AT it stops, and may send a request only within `SEND_S`. `Deaths` forks a process for each death from one that has made everything ready, since that takes a second.
"""

from __future__ import annotations

import contextlib
import math
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

import kubernetes.config  # noqa: F401 - else each forked process imports it
import sqlalchemy.dialects.sqlite  # noqa: F401 - else each forked process imports it
from urllib3 import connection

from kubescript import app, config, contexts, errors, programs, types
from kubescript.audit import recorder
from kubescript.broker import operation
from kubescript.changes import planning, recovery, work
from kubescript.changes.store import store
from kubescript.changes.writer import WritableAccess
from kubescript.cluster import connections, http, live, timers  # noqa: F401 - `http`, likewise for forks
from kubescript.request import request
from kubescript_masking.host import pool
from kubescript_sandbox import runs
from kubescript_sandbox.host import spawner
from tests.kit import paths, unfinished
from tests.kit.processes import CONTEXT

DIES_AT: Final = "DIES_AT"
STOPS_AT: Final = "STOPS_AT"
SEND_S: Final = 6.0
"""How long after its mark a command line that stops may send a request. A slow machine must get to the point by then."""
_SLEEP_S: Final = 3600.0
Reached = Callable[[str], None]
"""Told of each point that is reached, by its name."""


def plant(reached: Reached) -> None:
    """Has each point tell its name. Whoever dies there has done all that comes before it, and nothing that comes after
    it. Reads are no points: they have no effect."""
    store.Store.add = _then(store.Store.add, reached, "add")  # type: ignore[method-assign]
    store.Store.holds = _then(store.Store.holds, reached, "held")  # type: ignore[method-assign]
    for owner, name in ((store.Store, "claim"), (store.Store, "mark"), (store.Store, "finish")):
        setattr(owner, name, _first(getattr(owner, name), reached, name))
    for name, point in (("record_start", "begin"), ("record_application", "applied")):
        setattr(recorder.Recorder, name, _first(getattr(recorder.Recorder, name), reached, point))
    _plant_in_requests(reached)


def _plant_in_requests(reached: Reached) -> None:
    """`try`: before a dry run. `send`, `answer`: before a write is sent, and once it is, before its answer is read.
    `bytes`: before each part of a write goes out, once there is a connection; then, for the first one, `held`: the
    store has said that the plan is still this server's."""
    sending = threading.local()
    perform, get_response = live.Live.perform, connection.HTTPConnection.getresponse
    check_sending = connections.Exchange.check_sending

    def performed(self: live.Live, call: request.Request, *arguments: Any) -> types.Response:
        sending.now = call.method != "GET" and not call.dry_run
        if call.method != "GET":
            reached("try" if call.dry_run else "send")
        return perform(self, call, *arguments)

    def answered(self: connection.HTTPConnection) -> Any:
        if sending.now:
            reached("answer")
        return get_response(self)

    def checked(self: connections.Exchange) -> None:
        if sending.now:
            reached("bytes")
        check_sending(self)

    live.Live.perform = performed  # type: ignore[assignment, method-assign]
    connections.Exchange.check_sending = checked  # type: ignore[method-assign]
    connection.HTTPConnection.getresponse = answered  # type: ignore[method-assign]


def _first(original: Callable[..., Any], reached: Reached, name: str) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        reached(name)
        return original(*arguments)

    return watched


def _then(original: Callable[..., Any], reached: Reached, name: str) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        result = original(*arguments)
        reached(name)
        return result

    return watched


def die() -> None:
    """Ends this process as nobody can prevent."""
    os.kill(os.getpid(), signal.SIGKILL)


def no_lease() -> None:
    """Has whoever comes next take a plan for abandoned at once, and not after a minute."""
    work.LEASE_S = 0.0  # type: ignore[misc]


def main() -> None:
    """The command line."""
    seen: Counter[str] = Counter()

    def reached(name: str) -> None:
        seen[name] += 1
        point = f"{name} {seen[name]}"
        if point == os.environ.get(DIES_AT):
            die()
        if point == os.environ.get(STOPS_AT):
            os.kill(os.getpid(), signal.SIGSTOP)

    plant(reached)
    no_lease()
    if STOPS_AT in os.environ:
        work._SEND_S = SEND_S  # type: ignore[misc]
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
    error: str = ""
    """Why it could not apply its plan."""


@dataclass(frozen=True)
class _Order:
    """What a process is to do."""

    plan: str = ""
    """The plan that it applies; empty for what a server does at its start."""
    dies_at: int = 0
    stops_at: str = ""
    sleeps: bool = False
    """Whether it has become too late to send anything when the process goes on."""
    continues: bool = False
    """Whether the process of this plan that has stopped goes on."""


class Deaths:
    """Processes that apply plans, and die, or stop."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests

    def apply(self, plan: str, dies_at: int = 0) -> Life:
        """Applies an approved plan; dies at the nth point."""
        return self._successful(_Order(plan, dies_at))

    def recover(self) -> Life:
        """What a server does at its start."""
        return self._successful(_Order())

    def stop(self, plan: str, at: str, *, sleeps: bool = False) -> None:
        """Applies an approved plan in a process that stops (SIGSTOP) at a point: `mark 2` is the second mark. If it
        `sleeps`, then when it goes on it is too late to send what it had marked before."""
        life = self._live(_Order(plan, stops_at=at, sleeps=sleeps))
        assert life is None, (at, life)

    def resume(self, plan: str) -> Life:
        """Continues the process of this plan that has stopped; returns what became of it."""
        life = self._live(_Order(plan, continues=True))
        assert life is not None
        return life

    def _successful(self, order: _Order) -> Life:
        life = self._live(order)
        assert life is not None and not life.error, life
        return life

    def _live(self, order: _Order) -> Life | None:
        """What became of a process; None: it has stopped."""
        self._requests.send(order)
        answer: Life | None = self._requests.recv()
        return answer


@contextlib.contextmanager
def opened(settings: config.Settings, audit: Path) -> Iterator[Deaths]:
    """Processes of a server with these settings, and this audit file; replicas have a file each, beside it."""
    ours, theirs = CONTEXT.Pipe()
    scripts, runs_them = CONTEXT.Pipe()
    runner = CONTEXT.Process(target=_run_scripts, args=(settings, runs_them))
    process = CONTEXT.Process(target=_serve, args=(settings, audit, theirs, scripts))
    for each in (runner, process):
        each.start()
    for end in (theirs, scripts, runs_them):
        end.close()
    try:
        yield Deaths(ours)
    finally:
        ours.close()
        process.join()
        runner.join()


def _serve(settings: config.Settings, audit: Path, requests: Connection, scripts: Connection) -> None:
    """In a process of its own: forks one process after another, until nobody asks for more."""
    no_lease()
    pool._USES = 1_000_000  # type: ignore[misc]  # the processes share one masker, and cannot have another started
    source = spawner.Spawner(programs.WORKER)
    stopped: dict[str, tuple[int, int]] = {}
    with contextlib.closing(source), app.opened(settings, source) as parts:
        parts.redaction.prepare()
        while True:
            try:
                order = requests.recv()
            except EOFError:
                break
            if order.continues:
                pid, reader = stopped.pop(order.plan)
                os.kill(pid, signal.SIGCONT)
            else:
                pid, reader = _forked(parts, audit, order, scripts)
            if order.stops_at and os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]):
                stopped[order.plan] = pid, reader
                requests.send(None)
            else:
                requests.send(_ended(pid, reader))
    for pid, _ in stopped.values():
        os.kill(pid, signal.SIGKILL)


def _forked(parts: app.Application, audit: Path, order: _Order, scripts: Connection) -> tuple[int, int]:
    """A process, and where it tells what it has reached."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _live(parts, audit, order, writer, scripts)
    os.close(writer)
    return pid, reader


def _ended(pid: int, reader: int) -> Life:
    """What became of a process, once it has."""
    with os.fdopen(reader) as told:
        points, _, error = told.read().partition("\n")
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}, (code, points)
    return Life(code != 0, tuple(points.split()), error)


def _run_scripts(settings: config.Settings, scripts: Connection) -> None:
    """In a process of its own: runs the scripts of the forked processes, which share one masker and cannot have others
    started."""
    source = spawner.Spawner(programs.WORKER)
    with contextlib.closing(source), app.opened(settings, source) as parts, contextlib.suppress(EOFError):
        while True:
            operator = parts.operator
            outcome, _ = operator.evaluator.run_aside(scripts.recv(), operation.Operation(), operator.contexts)
            scripts.send(outcome)


def _live(parts: app.Application, audit: Path, order: _Order, writer: int, scripts: Connection) -> None:
    """A process from its birth to its end. It has store, connections and audit record of its own."""
    code = 1
    try:
        if order.stops_at:
            # No time that passes until it stops, or until the test goes on, decides what it sends: its clock does.
            work._SEND_S = _SLEEP_S / 2  # type: ignore[misc]
            work._LOOK_S = math.inf  # type: ignore[misc]
        seen: Counter[str] = Counter()

        def reached(name: str) -> None:
            seen[name] += 1
            if f"{name} {seen[name]}" == order.stops_at:
                os.kill(os.getpid(), signal.SIGSTOP)
                if order.sleeps:
                    uptime = timers.uptime
                    timers.uptime = lambda: uptime() + _SLEEP_S
            if name in {"bytes", "held"}:  # who dies here has the same behind it as at `send`
                return
            os.write(writer, f"{name} ".encode())
            if seen.total() - seen["bytes"] - seen["held"] == order.dies_at:
                die()

        def run(
            script: str, _operation: operation.Operation, _clusters: contexts.Contexts
        ) -> tuple[runs.Outcome, Callable[[str], str]]:
            scripts.send(script)
            return scripts.recv(), str

        plant(reached)
        is_replica = bool(parts.settings.replicas.store)
        file = audit.with_name(f"{audit.stem}-{os.getpid()}.jsonl") if is_replica else audit
        ledger = recorder.open_recorder(
            config.Audit(file=file), parts.redaction.text_or_withheld, is_replica=is_replica
        )
        access = parts.operator.contexts.default
        assert isinstance(access, WritableAccess)
        approvals = planning.Planning(
            parts.settings,
            {"": access},
            ledger,
            recovery.Keeper(parts.settings.plans),
            run,
        ).approvals
        if order.plan:
            approvals.apply(order.plan, lambda _done, _count, _text: None)
        else:
            unfinished.resume(approvals)
        code = 0
    except errors.KubescriptError as error:
        os.write(writer, f"\n{error.code}: {error.message}".encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
