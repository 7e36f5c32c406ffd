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
    app.App.NAME = "openstack"  # otherwise each usage text would contain this program's name
    classification.load()
    for group in sorted(_groups()):
        stevedore.ExtensionManager(group)
    for module in _LAZY:
        importlib.import_module(module)
    application = openstack_shell.OpenStackShell()  # collects all plugins' options for authentication
    # Making the first parser looks up the formats and the package of each command, which takes 150 ms.
    any_command = project.ListProject(application, None, cmd_name="project list")
    any_command.get_parser("project list")


def _groups() -> set[str]:
    """Returns the groups of entry points for the client's commands, plugins and formats."""
    prefixes = ("openstack.", "cliff.formatter.")
    groups: set[str] = set()
    for package in importlib.metadata.distributions():
        for entry in package.entry_points:
            if entry.group.startswith(prefixes):
                groups.add(entry.group)
    return groups


def run(order: orders.OpenStackOrder) -> int:
    """Runs the command line with the current stdout and stderr; returns the exit code. It is called once, in a fork."""
    # What this changes in the process, such as its environment, stays changed.
    _isolate()
    try:
        return _run(order)
    except refusal.Refused as refused:
        sys.stderr.write(f"openstack: {refused}\n")
        return orders.REFUSED
    except SystemExit as ended:
        return _exit_code(ended)
    except BaseException as error:
        # A traceback shows values, some of which are credentials.
        kind = type(error).__name__
        sys.stderr.write(f"openstack: the command failed: {kind}\n")
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
        clouds=order.clouds,
        secure=order.secure,
        cloud=order.cloud,
        microversions=order.microversions,
        allowed=tuple(order.allowed),
        allow_write=order.allow_write,
    )
    client = shell.Shell(access, wall)
    return client.run(list(order.arguments))


def _exit_code(ended: SystemExit) -> int:
    """Returns the exit code that Python would give the process."""
    if isinstance(ended.code, int):
        return ended.code
    # A string is an error message, so it means failure.
    return 0 if ended.code is None else 1


def _isolate() -> None:
    """Removes the server's environment, and prevents tracebacks."""
    os.environ.clear()
    os.environ["LC_ALL"] = "C.UTF-8"
    # Otherwise the requests library would read passwords from the .netrc of the server's user.
    os.environ["NETRC"] = "/nonexistent"
    warnings.simplefilter("ignore")  # warnings name files on the server
    sys.argv = ["openstack"]
    sys.stdin = _NoTerminal()
    sys.excepthook = _say_nothing
    sys.unraisablehook = _say_nothing
    threading.excepthook = _say_nothing


def _say_nothing(*_: Any) -> None:
    """Replaces the functions with which Python writes tracebacks to stderr."""


class _NoTerminal(io.StringIO):
    """An empty stdin that claims to be a terminal: commands read data, such as an image, from any stdin that is no
    terminal."""

    def isatty(self) -> bool:
        return True
