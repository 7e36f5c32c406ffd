"""Plans whose server died, without the threads of a server that goes on with them."""

from __future__ import annotations

from kubescript.changes import approval

__all__ = ["resume"]


def resume(approvals: approval.Approvals) -> None:
    """Goes on with all of them, one after the other."""
    for plan_id in approvals.list_unfinished():
        approvals.resume(plan_id)
