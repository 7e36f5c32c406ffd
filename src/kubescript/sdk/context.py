"""`ctx`: what a script may know of its own evaluation, and how it reports progress. Leads to no credential."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Context"]

Report = Callable[[float, float | None, str], None]


class Context:
    """The evaluation this script belongs to."""

    def __init__(self, name: str, namespace: str, timeout_ms: int, report: Report) -> None:
        self._name = name
        self._namespace = namespace
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._report = report

    @property
    def name(self) -> str:
        """The kubeconfig context, or the snapshot's name."""
        return self._name

    @property
    def namespace(self) -> str:
        """The default namespace, as the global `namespace`."""
        return self._namespace

    @property
    def remaining_ms(self) -> int:
        """Milliseconds until the host ends the script."""
        return max(0, round((self._deadline - time.monotonic()) * 1000))

    @property
    def time_left(self) -> float:
        """Seconds until the host ends the script."""
        return self.remaining_ms / 1000

    def to_dict(self) -> dict[str, str | int]:
        """What a script returns as `ctx`."""
        return {"context": self._name, "namespace": self._namespace, "remaining_ms": self.remaining_ms}

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Tell the client how far the script is; shown only by clients that asked for progress."""
        self._report(float(done), None if total is None else float(total), str(text))

    def __repr__(self) -> str:
        return f"<context {self._name!r}, namespace {self._namespace!r}, {self.remaining_ms} ms left>"
