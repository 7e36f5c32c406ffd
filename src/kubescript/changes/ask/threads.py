"""The threads in which plans are looked at and applied, so that slow ones keep no other call from being answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread

from kubescript.changes import approval, work
from kubescript.changes.store import record

__all__ = ["apply", "look"]

_T = TypeVar("_T")

# Attack: waiting plans, or plans for a slow cluster, occupy all of the 40 threads that a process has by default, so
# that no other call gets an answer.
_LOOKING: Final = anyio.CapacityLimiter(8)
_APPLYING: Final = anyio.CapacityLimiter(32)


async def look(work: Callable[..., _T], *args: Any) -> _T:
    """Returns what a short piece of work returns, and raises what it raises."""
    return await anyio.to_thread.run_sync(work, *args, limiter=_LOOKING, abandon_on_cancel=True)


async def apply(approvals: approval.Approvals, plan_id: str, report: work.Report) -> record.Record:
    """Applies an approved plan, and goes on even if the call is cancelled. Raises KubescriptError."""
    return await anyio.to_thread.run_sync(approvals.apply, plan_id, report, limiter=_APPLYING, abandon_on_cancel=True)
