"""What is found of one change: lines and findings for people, and the same as numbers for a second look."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Report"]

Json = dict[str, Any]


class Report:
    """The effects of one change, and the findings on them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._findings: list[Json] = []
        self._affected: dict[str, Json] = {}
        self.gone: dict[str, Json] = {}
        """The pods that a deletion takes, by name, with their labels."""

    def tell(self, line: str) -> None:
        """Adds a line that only informs: a difference of it stops no plan."""
        self._lines.append(line)

    def affect(self, line: str, what: str, count: int, uids: Iterable[str] = ()) -> None:
        """Adds a line about an effect on `count` objects, which is compared."""
        self._lines.append(line)
        self.compare(what, count, uids)

    def compare(self, what: str, count: int, uids: Iterable[str] = ()) -> None:
        """Adds an effect for a second look. `what` is the same for the same effect at any time; `uids` are those
        objects that do not come and go by themselves."""
        known = self._affected.setdefault(what, {"what": what, "count": 0, "uids": []})
        known["count"] += count
        known["uids"] = sorted({*known["uids"], *uids})

    def leave(self, what: str, taken: int, left: int) -> None:
        """Adds, for a second look, that an effect takes so many objects and leaves so many, where fewer are worse."""
        self._affected[what] = {"what": what, "count": taken, "left": left}

    def find(self, rule: str, level: str, message: str, about: str = "") -> None:
        """Adds a finding. Its message must be the same for the same finding at any time, without counts and ages; or
        `about` is, which then identifies it."""
        self._findings.append({"rule": rule, "level": level, "message": message, "about": about})

    def answer(self) -> Json:
        """Returns the report as the host reads it."""
        return {"effects": self._lines, "findings": self._findings, "affected": list(self._affected.values())}
