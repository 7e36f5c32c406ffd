"""The request's own words for the fields that a plan shows, in place of the masks over them.

Only the display for an approver uses them: the record of a plan, the model's answer and the log keep the masks. A
script wrote these words itself, so they tell the approver no secret of the cluster, and a mask over them would hide
what the approver decides about.
"""

from __future__ import annotations

import json

import msgspec

from kubescript.changes import plan
from kubescript.kube import body_texts
from kubescript.wire import inspection

__all__ = ["Words"]


class Words:
    """The words of one step's request."""

    def __init__(self, request: plan.Request) -> None:
        self._body = request.body
        self._values: list[str | int | float] | None = None

    def restore(self, row: inspection.Row) -> inspection.Row:
        """Returns a row with its new value as the request has it, if the request brings it. Of other rows, `brought` is
        None."""
        if row.brought is None:
            return row
        values = self._list_values()
        # A masking process has counted the values. Attack: a compromised one names a position that does not exist.
        if not 0 <= row.brought < len(values):
            return msgspec.structs.replace(row, brought=None)
        text = msgspec.json.encode(values[row.brought]).decode()
        return msgspec.structs.replace(row, new=text)

    def _list_values(self) -> list[str | int | float]:
        """Returns the values in the request's body."""
        if self._values is None:
            body = json.loads(self._body or "null")
            self._values = body_texts.list_values(body)
        return self._values
