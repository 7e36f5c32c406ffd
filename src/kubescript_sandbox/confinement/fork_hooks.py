"""Keeps modules from running hooks in each child of a fork server. Its start module calls `refuse` before any import.

`threading` and `random` register hooks that repair locks and seeds after a fork. A fork server has one thread, which
holds no lock when it forks, and a worker seeds `random` itself. The hooks would copy 70 more pages in each child.
"""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["refuse"]


def refuse() -> None:
    """From now on, ignores what modules of this process register for forks."""
    os.register_at_fork = _ignore


def _ignore(
    *,
    before: Callable[[], object] | None = None,
    after_in_parent: Callable[[], object] | None = None,
    after_in_child: Callable[[], object] | None = None,
) -> None:
    """Takes the place of os.register_at_fork."""
