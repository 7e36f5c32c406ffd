"""Provides the global `ctx` of scripts: what a script may know about its own evaluation, and how it reports progress.
No attribute leads to a credential."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kubescript.guest.sdk.values import names
from kubescript_sandbox.guest import channel

__all__ = ["Budget", "Context"]

Report = Callable[[float, float | None, str], None]

_NAMES: Final = ("api_calls", "response_bytes", "output_bytes", "remaining_ms")
_WORDS: Final = {
    **dict.fromkeys(("apicalls", "calls", "api", "requests", "apirequests", "callcount"), "api_calls"),
    **dict.fromkeys(("responsebytes", "bytes", "apibytes", "bytesfetched", "databytes", "download"), "response_bytes"),
    **dict.fromkeys(("outputbytes", "output", "answerbytes", "answer", "resultbytes", "printbytes"), "output_bytes"),
    **dict.fromkeys(("remainingms", "ms", "timems", "timeoutms", "milliseconds"), "remaining_ms"),
}
"""Maps folded words, without `left` or `remaining`, to the names that they mean."""


class Budget(Mapping[str, int]):
    """`ctx.budget`: the API calls, bytes of answers, bytes of output and milliseconds that are left."""

    __slots__ = ("_deadline", "_left")

    def __init__(self, left: channel.Left, deadline: float) -> None:
        self._left = left
        self._deadline = deadline

    def __call__(self) -> Budget:
        """The same budget, so that `ctx.budget()` works as well."""
        return self

    def __getattr__(self, name: str) -> int:
        found = _find_meaning(name)
        if name.startswith("_") or not found:
            raise AttributeError(f"ctx.budget has no {name!r}; it has {', '.join(_NAMES)}")
        return self[found]

    def __getitem__(self, key: str) -> int:
        name = _find_meaning(key)
        if name is None:
            raise KeyError(f"{key!r}; there are {', '.join(_NAMES)}")
        if name == "remaining_ms":
            seconds = self._deadline - time.monotonic()
            return max(0, round(seconds * 1000))
        left = int(getattr(self._left, name))
        return max(0, left)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def __dir__(self) -> list[str]:
        return [*_NAMES, "get", "items", "keys", "values", "to_dict"]

    def to_dict(self) -> dict[str, int]:
        """A plain dict with the numbers of this moment."""
        return dict(self)

    def __repr__(self) -> str:
        mib = self.response_bytes >> 20
        kib = self.output_bytes >> 10
        return f"<left: {self.api_calls} API calls, {mib} MiB of answers, {kib} KiB of output, {self.remaining_ms} ms>"


def _find_meaning(word: object) -> str | None:
    """Returns the name for a word that scripts use, such as `calls_left` or `remaining_bytes`."""
    folded = names.fold(str(word))
    if folded in _WORDS:
        return _WORDS[folded]
    resource = folded.replace("left", "").replace("remaining", "")
    # `ctx.budget.remaining` alone means the time.
    return _WORDS.get(resource or "ms")


def _to_finite(number: float) -> float:
    """Returns the number as a float. Raises ValueError for infinities and NaN."""
    # JSON has neither infinities nor NaN, so the host would end the worker.
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("progress(done, total) takes finite numbers")
    return value


class Context:
    """The evaluation this script belongs to."""

    def __init__(
        self, name: str, namespace: str, timeout_ms: int, report: Report, left: channel.Left | None = None
    ) -> None:
        self._name = name
        self._namespace = namespace
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._report = report
        self._budget = Budget(left or channel.Left(0, 0, 0), self._deadline)

    @property
    def name(self) -> str:
        """The kubeconfig context, or the snapshot's name."""
        return self._name

    @property
    def namespace(self) -> str:
        """The default namespace, as the global `namespace`."""
        return self._namespace

    @property
    def budget(self) -> Budget:
        """What is left: `api_calls`, `response_bytes`, `output_bytes`, `remaining_ms`."""
        return self._budget

    @property
    def remaining_ms(self) -> int:
        """Milliseconds until the host ends the script."""
        return self._budget["remaining_ms"]

    @property
    def time_left(self) -> float:
        """Seconds until the host ends the script."""
        return self.remaining_ms / 1000

    def to_dict(self) -> dict[str, object]:
        """The plain data of `ctx`, for a script that returns it."""
        return {"context": self._name, "namespace": self._namespace, **self._budget.to_dict()}

    def progress(self, done: float, total: float | None = None, text: str = "", message: str = "") -> None:
        """Tell the client how far the script is; shown only by clients that asked for progress."""
        shown = str(text or message)
        reached = _to_finite(done)
        end = None if total is None else _to_finite(total)
        # Attack: `str()` of a script's own class may be an instance of its subclass of str, whose slices may be
        # anything.
        self._report(reached, end, str.__str__(shown))

    def __repr__(self) -> str:
        left = self.remaining_ms
        return (
            f"<context {self._name!r}, namespace {self._namespace!r}, {left} ms left; it has "
            ".name, .remaining_ms, .budget, .progress(done, total, text)>"
        )
