"""Examines for `kubescript doctor` whether command lines run here, by running one that calls no service."""

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
"""Bytes of the version that are shown."""


def examine(settings: config.Settings, program: config.Route) -> tuple[bool, str]:
    """Returns whether a program reports its version when confined by all required layers, and a text about it and its
    credentials."""
    try:
        if program == "openshift":
            order, where = _ask_oc(settings.openshift)
        else:
            order, where = _ask_openstack(settings.openstack)
        output = _run(settings, program, order)
    except errors.KubescriptError as error:
        return False, error.explained
    text = output.stdout if output.status == 0 else f"it fails: {output.stderr or output.status}"
    lines = text.strip().splitlines() or ["it says nothing"]
    return output.status == 0, f"{lines[0][:_SHOWN]} ({where})"


def _ask_oc(settings: config.OpenShift) -> tuple[orders.Order, str]:
    """Returns the order that makes `oc` print its version, and a text about the program and the credentials."""
    binary = oc_runner.program(settings)
    where = f"{binary}, {_source('the kubeconfig', settings.urls)}"
    if oc_runner.is_stand_in(settings, binary):
        where += "; oc is not installed"
    return orders.OpenShiftOrder(["version", "--client"], str(binary), "default"), where


def _ask_openstack(settings: config.OpenStack) -> tuple[orders.Order, str]:
    """Returns the same for `openstack`."""
    urls = settings.auth_urls or (clouds.of(settings, request_credentials.Credentials()).auth_url,)
    where = _source(f"clouds.yaml for {urls[0]}", settings.auth_urls)
    order = orders.OpenStackOrder(["--version"], '{"clouds": {"none": {}}}', "", "none", {}, [], False, [])
    return order, where


def _source(operators: str, urls: tuple[str, ...]) -> str:
    if urls:
        return f"credentials: of each request, for {', '.join(urls)}"
    return f"credentials: {operators}"


def _run(settings: config.Settings, program: config.Route, order: orders.Order) -> confined_process.Output:
    """Runs the order under full confinement. Raises WorkerError."""
    with contextlib.closing(processes.Processes(settings)) as started:
        worker = started.start(program, settings.limits.for_script(None))
        with confined_process.start(worker, order, strict=True) as running:
            return running.read(time.monotonic() + _WITHIN_S, _SHOWN)
