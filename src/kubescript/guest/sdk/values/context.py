"""Owns the global `ctx` of scripts: what a script may know of its own evaluation, and how it reports progress. No
attribute of it leads to a credential."""

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
"""Maps folded words, without `left` or `remaining`, to the name they mean."""


class Budget(Mapping[str, int]):
    """`ctx.budget`: what is left of API calls, bytes of their answers, bytes of output, and milliseconds."""

    __slots__ = ("_deadline", "_left")

    def __init__(self, left: channel.Left, deadline: float) -> None:
        self._left = left
        self._deadline = deadline

    def __call__(self) -> Budget:
        """The same budget, so that `ctx.budget()` works as well."""
        return self

    def __getattr__(self, name: str) -> int:
        if not name.startswith("_") and (found := _find_meaning(name)):
            return self[found]
        raise AttributeError(f"ctx.budget has no {name!r}; it has {', '.join(_NAMES)}")

    def __getitem__(self, key: str) -> int:
        name = _find_meaning(key)
        if name is None:
            raise KeyError(f"{key!r}; there are {', '.join(_NAMES)}")
        if name == "remaining_ms":
            return max(0, round((self._deadline - time.monotonic()) * 1000))
        return max(0, int(getattr(self._left, name)))

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
        mib, kib = self.response_bytes >> 20, self.output_bytes >> 10
        return f"<left: {self.api_calls} API calls, {mib} MiB of answers, {kib} KiB of output, {self.remaining_ms} ms>"


def _find_meaning(word: object) -> str | None:
    """Returns the name for a word that scripts use, such as `calls_left` or `remaining_bytes`."""
    folded = names.fold(str(word))
    return _WORDS.get(folded) or _WORDS.get(folded.replace("left", "").replace("remaining", "") or "ms")


def _finite(number: float) -> float:
    """Returns the number. Raises ValueError for one that JSON does not have: the host would end the worker."""
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
        told = str(text or message)  # may be a str of the script's own kind, whose slices are anything
        self._report(_finite(done), None if total is None else _finite(total), str.__str__(told))

    def __repr__(self) -> str:
        return (
            f"<context {self._name!r}, namespace {self._namespace!r}, {self.remaining_ms} ms left; it has "
            ".name, .remaining_ms, .budget, .progress(done, total, text)>"
        )
