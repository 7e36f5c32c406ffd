"""A process that has loaded openstackclient, and forks for each command line: `python -m tests.kit.openstack.warm KIND`.

`ours` runs what the product runs; `plain` runs openstackclient's own main function, so that both can be compared without
two seconds for each command. It reads orders from stdin, a line each, and answers with a line each.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable

import msgspec

from kubescript.wire import orders

__all__ = ["Answer"]


class Answer(msgspec.Struct, frozen=True):
    """What a command line printed, and how it ended."""

    code: int
    out: str
    err: str
    seconds: float
    """From the fork to the end."""
    warm_seconds: float
    peak_mebibytes: float
    """Of the warm process."""


def _ours(order: orders.OpenStackOrder) -> int:
    from kubescript.launcher import openstack_command

    return openstack_command.run(order)


def _plain(order: orders.OpenStackOrder) -> int:
    from openstackclient import shell

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as clouds:
        clouds.write(order.clouds)
        clouds.flush()
        os.environ["OS_CLIENT_CONFIG_FILE"] = clouds.name
        os.environ["OS_CLOUD"] = order.cloud
        try:
            return shell.main(order.arguments)
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)


def _warm(kind: str) -> Callable[[orders.OpenStackOrder], int]:
    from kubescript.launcher import openstack_command

    openstack_command.warm()  # for both: it only imports
    sys.argv = ["openstack"]
    return _plain if kind == "plain" else _ours


def _forked(run: Callable[[orders.OpenStackOrder], int], order: orders.OpenStackOrder) -> tuple[int, str, str]:
    out, err = os.memfd_create("out"), os.memfd_create("err")
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.dup2(out, 1)
            os.dup2(err, 2)
            code = run(order)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    texts = []
    for descriptor in (out, err):
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(descriptor, encoding="utf-8", newline="") as file:
            texts.append(file.read())
    return os.waitstatus_to_exitcode(status), texts[0], texts[1]


def main() -> None:
    """Answer orders until stdin ends."""
    began = time.monotonic()
    run = _warm(sys.argv[1])
    warm_seconds = time.monotonic() - began
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=orders.OpenStackOrder)
        started = time.monotonic()
        code, out, err = _forked(run, order)
        seconds = time.monotonic() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answer = Answer(code, out, err, seconds, warm_seconds, peak)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
