"""Examines, for `kubescript doctor`, whether command lines can run on this machine, by running one that calls no
service."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from kubescript import config, errors
from kubescript.commands import clouds, confined_process, oc_runner, processes, request_credentials
from kubescript.wire import orders

__all__ = ["examine"]

_WITHIN_S: Final = 60.0
_SHOWN: Final = 200
"""How many bytes of the version are shown."""


def examine(settings: config.Settings, program: config.Route) -> tuple[bool, str]:
    """Returns whether a program reports its version when confined by all required layers, and a text about the program
    and its credentials."""
    try:
        if program == "openshift":
            order, where = _ask_oc(settings.openshift)
        else:
            order, where = _ask_openstack(settings.openstack)
        output = _run(settings, program, order)
    except errors.KubescriptError as error:
        return False, error.explained
    has_succeeded = output.status == 0
    text = output.stdout
    if not has_succeeded:
        text = f"it fails: {output.stderr or output.status}"
    first, *_ = text.strip().splitlines() or ["it says nothing"]
    return has_succeeded, f"{first[:_SHOWN]} ({where})"


def _ask_oc(settings: config.OpenShift) -> tuple[orders.Order, str]:
    """Returns the order that makes `oc` print its version, and a text about the program and the credentials."""
    binary = oc_runner.program(settings)
    source = _source("the kubeconfig", settings.urls)
    where = f"{binary}, {source}"
    if oc_runner.is_stand_in(settings, binary):
        where += "; oc is not installed"
    # `--client` is given because otherwise the cluster would be asked too.
    order = orders.OpenShiftOrder(["version", "--client"], str(binary), "default")
    return order, where


def _ask_openstack(settings: config.OpenStack) -> tuple[orders.Order, str]:
    """Returns the same for `openstack`."""
    operators = ""
    if not settings.auth_urls:
        nothing = request_credentials.Credentials()
        cloud = clouds.of(settings, nothing)
        operators = f"clouds.yaml for {cloud.auth_url}"
    where = _source(operators, settings.auth_urls)
    order = orders.OpenStackOrder(
        arguments=["--version"],
        clouds='{"clouds": {"none": {}}}',
        secure="",
        cloud="none",
        microversions={},
        allowed=[],
        allow_write=False,
        readable=[],
    )
    return order, where


def _source(operators: str, urls: tuple[str, ...]) -> str:
    """Returns where credentials come from: `operators`, unless requests bring them."""
    if not urls:
        return f"credentials: {operators}"
    allowed = ", ".join(urls)
    return f"credentials: of each request, for {allowed}"


def _run(settings: config.Settings, program: config.Route, order: orders.Order) -> confined_process.Output:
    """Runs the order under full confinement. Raises WorkerError."""
    with contextlib.closing(processes.Processes(settings)) as started:
        limits = settings.limits.for_script(None)
        worker = started.start(program, limits)
        with confined_process.start(worker, order, strict=True) as running:
            deadline = time.monotonic() + _WITHIN_S
            return running.read(deadline, _SHOWN)
