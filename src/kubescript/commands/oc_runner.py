"""Runs command lines of `oc`, each in a process that can reach only this server's broker."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from kubescript import config, errors, types
from kubescript.commands import (
    command_outcome,
    confined_process,
    line,
    oc_arguments,
    processes,
    proxy,
    request_credentials,
)
from kubescript.wire import orders
from kubescript_sandbox import runs

__all__ = ["Runner", "is_stand_in", "program"]

_KUBECTL: Final = "kubectl"
_CLUSTER: Final = "https://cluster"
"""The replacement for the proxy's address in answers."""
_NOT_OC: Final = "oc is not installed here, so kubectl has answered"


class Runner:
    """A runner of command lines, each in a separate process. Safe for use from many threads."""

    def __init__(
        self,
        settings: config.Settings,
        started: processes.Processes,
        later: Callable[..., None],
    ) -> None:
        """`later` runs a function after an answer has been sent."""
        own = settings.openshift
        self._settings = own
        self._rules = oc_arguments.Rules(own.allowed_commands, own.blocked_commands or (), own.allow_write)
        self._plans = "plan" in settings.default_modes
        self._processes = started
        self.later = later

    def run(self, job: types.Job) -> runs.Outcome:
        """Runs the command line in the job's script. Raises PolicyDenied for a line that may not run, RequestError and
        AuthError for unreadable lines or unusable credentials, and WorkerError or ConfigError if no line can run."""
        # A request with its own credentials must not act with those of the operator.
        if not self._settings.urls and request_credentials.current().has_openshift:
            raise errors.AuthError(
                "this server has credentials of its own: leave out OCP_TOKEN and OCP_URL", code="auth.access"
            )
        arguments = line.split(job.script, "oc")
        command = oc_arguments.check(arguments, self._rules)
        if self._plans and command[:1] == ("delete",):
            arguments = _without_wait(arguments)
        binary = program(self._settings)
        order = orders.OpenShiftOrder(arguments, str(binary), job.parameters.namespace)
        return self._carry_out(job, order)

    def _carry_out(self, job: types.Job, order: orders.OpenShiftOrder) -> runs.Outcome:
        """Runs a command line that has been checked."""
        began = time.monotonic()
        deadline = began + job.limits.timeout_ms / 1000
        with contextlib.ExitStack() as held:
            worker = self._processes.start("openshift", job.limits)
            held.enter_context(job.cancellation.closing(worker.kill))
            running = held.enter_context(confined_process.start(worker, order, strict=self._processes.strict))
            if running.way_out is None:  # no descriptor was free for the way out
                raise errors.WorkerError("the process of the command line has no way out; run it again")
            address = running.way_out.address
            asked = proxy.Proxy(running.way_out, job, deadline, may_write=self._settings.allow_write)
            with asked.serving():
                output = running.read(deadline, job.limits.output_bytes, job.cancellation)
        # The address means nothing to a reader, and contains the proxy's secret.
        stdout = output.stdout.replace(address, _CLUSTER)
        stderr = output.stderr.replace(address, _CLUSTER)
        output = replace(output, stdout=stdout, stderr=stderr)
        wall_s = time.monotonic() - began
        usage = runs.Usage(
            wall_ms=wall_s * 1000,
            cpu_ms=output.cpu_ms,
            peak_bytes=output.peak_bytes,
            api_calls=asked.calls,
        )
        notes = []
        if is_stand_in(self._settings, Path(order.binary)):
            notes.append(_NOT_OC)
        # During discovery, `oc` does not report the cause of a failure.
        if output.status != 0:
            notes += _explain(asked.faults)
        return command_outcome.outcome(job, output, usage, tuple(notes))


def _explain(faults: Mapping[str, str]) -> Iterator[str]:
    """Yields reasons why the cluster has not answered: codes, with their messages if these quote nothing."""
    for code, message in faults.items():
        # Attack: the message contains a pod's name. Such a message is left out, since the command's own output, which
        # is marked, contains it too.
        is_plain = code in errors.PLAIN_CODES
        yield f"{code}: {message}" if is_plain else code


def program(settings: config.OpenShift) -> Path:
    """Returns the program to run. Raises ConfigError if there is none."""
    if settings.binary is not None:
        named = str(settings.binary.absolute())
        found = shutil.which(named)
        if found is not None:
            return Path(found)
        why = f"{named} cannot be executed"
    else:
        found = shutil.which("oc") or shutil.which(_KUBECTL)
        if found is not None:
            return Path(found).resolve()
        why = "this server has neither oc nor kubectl"
    raise errors.ConfigError(why, remedy="install oc, or name it with openshift.binary")


def is_stand_in(settings: config.OpenShift, binary: Path) -> bool:
    """Says whether the program is a kubectl that is used because `oc` is missing, rather than because a setting names
    it."""
    if settings.binary is not None:
        return False
    return binary.name == _KUBECTL


def _without_wait(arguments: list[str]) -> list[str]:
    """Returns a deletion that does not wait."""
    # A planned deletion never happens, and `oc` waits for it by default.
    if any(argument.startswith("--wait") for argument in arguments):
        return arguments
    # After `--`, the flag would be the name of an object.
    end = len(arguments)
    if "--" in arguments:
        end = arguments.index("--")
    return [*arguments[:end], "--wait=false", *arguments[end:]]
