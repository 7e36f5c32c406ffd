"""Runs one command line of openstackclient. `warm` is called once, in the process whose forks call `run`."""

from __future__ import annotations

import importlib
import importlib.metadata
import io
import os
import sys
import threading
import warnings
from contextlib import suppress
from typing import Any

import stevedore
from cliff import app
from openstackclient import shell as openstack_shell
from openstackclient.identity.v3 import project

from kubescript.launcher import classification, gate, refusal, shell
from kubescript.wire import orders

__all__ = ["run", "warm"]

_LAZY = (
    "keystoneclient.v3.client",
    "openstack.connection",
    "requests.adapters",
    "encodings.idna",
    "netaddr",
    "getpass",
    "netrc",
    "dogpile.cache.backends.null",
)
"""Modules that commands import only when they run."""


def warm() -> None:
    """Loads openstackclient with all plugins and commands; takes a second or two. Nothing is read from the cloud."""
    app.App.NAME = "openstack"  # otherwise each usage text would contain the name of our program
    classification.load()
    for group in sorted(_groups()):
        stevedore.ExtensionManager(group)
    for module in _LAZY:
        importlib.import_module(module)
    application = openstack_shell.OpenStackShell()  # collects all plugins' options for authentication
    # Making one parser finds the formats, and the package of each command: 150 ms.
    project.ListProject(application, None, cmd_name="project list").get_parser("project list")


def _groups() -> set[str]:
    """Returns the groups of entry points for the client's commands, plugins and formats."""
    groups: set[str] = set()
    for package in importlib.metadata.distributions():
        groups.update(entry.group for entry in package.entry_points)
    return {group for group in groups if group.startswith(("openstack.", "cliff.formatter."))}


def run(order: orders.OpenStackOrder) -> int:
    """Runs the command line with the current stdout and stderr; returns the exit code. It is called once, in a fork,
    because its changes to the process are permanent."""
    _isolate()
    try:
        return _run(order)
    except refusal.Refused as refused:
        sys.stderr.write(f"openstack: {refused}\n")
        return orders.REFUSED
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as error:  # a traceback shows values, some of which are credentials
        sys.stderr.write(f"openstack: the command failed: {type(error).__name__}\n")
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()


def _run(order: orders.OpenStackOrder) -> int:
    """Runs the command line behind the gate."""
    wall = gate.Gate(allow_write=order.allow_write)
    wall.install()
    access = shell.Access(
        order.clouds, order.secure, order.cloud, order.microversions, tuple(order.allowed), order.allow_write
    )
    return shell.Shell(access, wall).run(list(order.arguments))


def _isolate() -> None:
    """Removes the server's environment, and prevents tracebacks."""
    os.environ.clear()
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ["NETRC"] = "/nonexistent"  # requests would read passwords from the .netrc of the server's user
    warnings.simplefilter("ignore")  # they name files on the server
    sys.argv = ["openstack"]
    sys.stdin = _NoTerminal()
    sys.excepthook = _say_nothing
    sys.unraisablehook = _say_nothing
    threading.excepthook = _say_nothing


def _say_nothing(*_: Any) -> None:
    """Replaces the functions with which Python writes tracebacks to stderr."""


class _NoTerminal(io.StringIO):
    """An empty stdin that claims to be a terminal: from any other stdin, commands read data such as an image."""

    def isatty(self) -> bool:
        return True
