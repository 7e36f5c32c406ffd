"""Which program a person started: `kubescript`, the plug-in of kubectl, or one file with all dependencies."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from kubescript import installation

__all__ = ["command", "shell_command", "usage_name"]

_PLUGIN: Final = "kubectl-kubescript"
"""kubectl starts the program of this name for `kubectl kubescript`."""
_DOCKER: Final = (
    "docker", "run", "--rm", "--interactive", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",  # noqa: S108  it is the container's own
    "--volume", "KUBECONFIG_OF_THIS_MACHINE:/home/kubescript/.kube/config:ro",
)  # fmt: skip
"""How a client on the machine of the container starts the image: that machine has no program of ours."""
_NAMES: Final = frozenset({"kubescript", _PLUGIN})


def usage_name() -> str:
    """Returns the words with which a person starts this program."""
    return "kubectl kubescript" if _program_file().name == _PLUGIN else "kubescript"


def shell_command() -> str:
    """Returns what a person types in this shell to start this installation."""
    if installation.image():
        return usage_name()
    words = command()
    if _program_file().name == _PLUGIN or shutil.which("kubescript") in words:
        return usage_name()
    return shlex.join(words)


def command() -> tuple[str, ...]:
    """Returns the words with which another program can start this installation: an absolute path, or Python and the
    module; in a container, what starts another one on its machine, with a placeholder for the kubeconfig there."""
    image = installation.image()
    if image:
        return (*_DOCKER, image)
    words = installation.uvx()
    if words:
        return (shutil.which(words[0]) or words[0], *words[1:])
    # Clients do not have the PATH of a shell.
    installed = Path(sys.executable).with_name("kubescript")
    for path in (_on_path(), installed):
        # The name first: asking about a file in an unsearchable folder raises an error.
        if _is_ours(path) and path.is_file() and os.access(path, os.X_OK):
            return (str(path.absolute()),)
    return (sys.executable, "-m", "kubescript")


def _program_file() -> Path:
    # A .pex file sets argv[0] to its own path: the files that it unpacks are in a cache that may go.
    return Path(sys.argv[0])


def _on_path() -> Path:
    """Returns the name in the PATH of the file that was started, which may be a link to it; else that file."""
    # Package managers move such links to the next version, and remove the file that they link to.
    started = _program_file()
    found = shutil.which(started.name)
    return Path(found) if found and _same(Path(found), started) else started


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_ours(path: Path) -> bool:
    return path.name in _NAMES or path.suffix == ".pex"
