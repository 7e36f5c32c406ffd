"""A fork server of command lines whose processes run unrestricted Python in place of `oc`, confined as `oc` is. Run by
path as the command of a Spawner, never part of the product.

The last word of a command line is the attack; what it leaves in `result` is printed. With `landlock-only` before the
program's name, it is a machine that lets nobody make a network namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import resource
import socket
import sys
import threading
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import NoReturn

from kubescript.launcher import start
from kubescript_sandbox.confinement import command_filter, command_lockdown, lockdown


def become(_: command_filter.Execution, words: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Run the attack where the program would begin."""
    scope: dict[str, object] = {"environment": environment}
    modules = (ctypes, fcntl, mmap, os, resource, socket, sys, threading, urllib.parse)
    scope.update({module.__name__.partition(".")[0]: module for module in modules})
    try:
        exec(words[-1], scope)
    except BaseException as error:
        scope["result"] = repr(error)
    print(scope.get("result"))
    sys.stdout.flush()
    os._exit(0)


def refused(_: lockdown.Confinement) -> str:
    """A step on a machine without network namespaces."""
    raise OSError("refused by this test")


if __name__ == "__main__":
    if sys.argv[1] == "landlock-only":
        del sys.argv[1]
        command_lockdown.LOOPBACK_STEPS = (("network", refused),)  # type: ignore[misc]
    vars(command_filter)["Execution"].run = become
    start.main()
