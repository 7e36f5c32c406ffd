"""Runs command lines of `openstack`, each in a fork of a process that has loaded the client.

The process holds its call's credentials and talks to the cloud itself. `launcher.openstack_process` confines it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kubescript import config, errors, installation, types
from kubescript.broker import operation
from kubescript.commands import (
    clouds,
    command_outcome,
    confined_process,
    line,
    microversions,
    processes,
    request_credentials,
)
from kubescript.wire import exchanges, orders
from kubescript_sandbox import runs
from kubescript_sandbox.wire import protocol

__all__ = ["NoCluster", "Runner", "check"]

log = logging.getLogger(__name__)

_WITHOUT_PROJECT: Final = (
    "the request names no project (header OS_PROJECT_ID, or OS_PROJECT_NAME): most services need one"
)


def check() -> None:
    """Checks that the client is installed. Raises ConfigError."""
    if importlib.util.find_spec("openstackclient") is None:
        raise errors.ConfigError(
            "the toolset openstack needs python-openstackclient", remedy=installation.suggest_extra("openstack")
        )


class NoCluster:
    """A handler that refuses all calls: command lines of `openstack` never call the broker."""

    names = ("openstack",)
    namespace = ""
    is_named_by_data = False
    sources: Final[dict[str, str]] = {}

    def handle(
        self, call: exchanges.Call, operation: operation.Operation, timeout_s: float
    ) -> tuple[exchanges.Reply, types.Response | None]:
        """Refuses the call."""
        fault = protocol.ScriptFault("policy.denied", "there is no cluster here")
        return exchanges.Reply(0, fault=fault), None


class Runner:
    """A runner of command lines. Safe for use from many threads."""

    def __init__(self, settings: config.Settings, started: processes.Processes, later: Callable[..., None]) -> None:
        """`later` runs a function after an answer has been sent."""
        self._settings = settings.openstack
        self._processes = started
        self.later = later

    def run(self, job: types.Job) -> runs.Outcome:
        """Runs the command line in the job's script. Raises RequestError for an unreadable line, AuthError for wrong
        credentials, and WorkerError or ConfigError if no line can run."""
        began = time.monotonic()
        timeout_s = job.limits.timeout_ms / 1000
        job = replace(job, deadline=began + timeout_s)
        arguments = line.split(job.script, "openstack")
        credentials = request_credentials.current()
        cloud = clouds.of(self._settings, credentials)
        # The service catalog may depend on the region and the project.
        name = f"{cloud.auth_url} {cloud.scope}"
        versions = self._processes.microversions.of(name, lambda: self._ask_microversions(job, cloud))
        output = self._output(job, cloud, arguments, versions)
        wall_s = time.monotonic() - began
        usage = runs.Usage(wall_ms=wall_s * 1000, cpu_ms=output.cpu_ms, peak_bytes=output.peak_bytes)
        notes: tuple[str, ...] = ()
        if output.status != 0 and cloud.lacks_project:
            notes = (_WITHOUT_PROJECT,)
        return command_outcome.outcome(job, output, usage, notes, orders.REFUSED)

    def _ask_microversions(self, job: types.Job, cloud: clouds.Cloud) -> dict[str, str] | None:
        """Asks the cloud for its microversions. Returns None if it does not answer: the command will report why."""
        deadline = time.monotonic() + microversions.PATIENCE_S
        short = replace(job, deadline=deadline)
        command = list(microversions.COMMAND)
        output = self._output(short, cloud, command, {})
        if output.status == 0:
            with contextlib.suppress(ValueError):
                return microversions.parse(output.stdout)
        log.warning("the cloud's microversions are not known", extra={"event": "openstack.microversions"})
        # A silent cloud is not asked again immediately. Refused credentials of a caller, however, say nothing about the
        # cloud.
        return {} if output.is_over else None

    def _output(
        self, job: types.Job, cloud: clouds.Cloud, arguments: list[str], versions: dict[str, str]
    ) -> confined_process.Output:
        """Runs the client with these arguments and credentials."""
        assert job.deadline is not None
        order = orders.OpenStackOrder(
            arguments=arguments,
            clouds=cloud.clouds,
            secure=cloud.secure,
            cloud=cloud.name,
            microversions=versions,
            allowed=list(self._settings.allowed_commands),
            allow_write=self._settings.allow_write,
            readable=list(cloud.readable),
        )
        worker = self._processes.start("openstack", job.limits)
        with (
            job.cancellation.closing(worker.kill),
            confined_process.start(worker, order, strict=self._processes.strict) as running,
        ):
            return running.read(job.deadline, job.limits.output_bytes, job.cancellation)
