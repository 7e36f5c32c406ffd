"""The layers of a confined process: which ones a server requires, which are missing, and the remedies."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from kubescript_sandbox.wire import protocol

__all__ = ["COMMANDS", "REMEDIES", "REQUIRED", "missing", "remedy", "warn"]

log = logging.getLogger(__name__)

# The network namespace is not required, because the container profile of most clusters (RuntimeDefault) does not permit
# it. Without it, seccomp still lets a confined process create no socket, and Landlock lets none connect.
REQUIRED: Final = frozenset(
    {"descriptors", "rlimits", "identity", "capabilities", "parent_death", "no_new_privs", "landlock", "seccomp"}
)
"""The layers that `sandbox.strict` requires."""
COMMANDS: Final = frozenset({"rlimits", "capabilities", "parent_death", "no_new_privs", "landlock", "seccomp"})
"""The layers that `sandbox.strict` requires of a command line's process."""
REMEDIES: Final = {
    "egress": "use Linux 6.7 or newer, or allow unprivileged user namespaces",
    "network": "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "user.max_user_namespaces>0, kernel.apparmor_restrict_unprivileged_userns=0), or run as root with CAP_SYS_ADMIN",
    "landlock": "use Linux 5.13 or newer, with `landlock` in the boot parameter lsm=",
    "seccomp": "install libseccomp (Debian and Ubuntu: apt install libseccomp2; Alpine and Fedora: libseccomp), "
    "and use a kernel with CONFIG_SECCOMP_FILTER",
    "scope": "use Linux 6.12 or newer; until then seccomp forbids all signals",
    "oom_score": "mount /proc writable for the process itself",
}
"""Remedies for missing layers, by the layer's name."""


def missing(layers: Iterable[protocol.Layer], required: frozenset[str] = REQUIRED) -> tuple[str, ...]:
    """Returns the names of the required layers that are not active."""
    active = {layer.name for layer in layers if layer.active}
    lacking = sorted(required - active)
    return tuple(lacking)


def remedy(lacking: Iterable[str]) -> str:
    """Returns what an operator must change to activate these layers."""
    known = [REMEDIES[name] for name in lacking if name in REMEDIES]
    return "; ".join(known) or "`kubescript doctor` says what to change"


_told: Final[set[tuple[str, ...]]] = set()


def warn(lacking: tuple[str, ...]) -> None:
    """Logs, once per process, that scripts, masking and command lines are confined without these layers."""
    if lacking in _told:
        return
    _told.add(lacking)
    log.warning(
        "SCRIPTS, MASKING AND COMMANDS ARE NOT FULLY CONFINED: %s missing on this machine",
        ", ".join(lacking),
        extra={
            "event": "sandbox.unconfined",
            "remedy": f"{remedy(lacking)}; sandbox.strict = true refuses scripts until then",
        },
    )
