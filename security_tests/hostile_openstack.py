"""A fork server of command lines whose processes run unrestricted Python in place of openstackclient, as if a service's
answer had taken it over. Run by path as the command of a Spawner, never part of the product.

The first argument of a command line is the attack; what it leaves in `result` is printed.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import socket
import sys

from kubescript.launcher import start
from kubescript.wire import orders


def run(order: orders.OpenStackOrder) -> int:
    """Run the attack."""
    scope: dict[str, object] = {"ctypes": ctypes, "os": os, "socket": socket, "order": order, "sys": sys}
    try:
        exec(order.arguments[0], scope)
    except BaseException as error:
        scope["result"] = repr(error)
    print(scope.get("result"))
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    os.environ["HOME"] = os.devnull  # as the product's start does, before the client is imported
    openstack = importlib.import_module("kubescript.launcher.openstack_command")
    vars(openstack).update(warm=lambda: None, run=run)
    start.main()
