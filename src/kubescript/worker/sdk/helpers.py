"""The few functions a script has besides the API: `quantity`, `age`, `table`, `top`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kubescript.worker.sdk import ages, quantity, ranking, table

__all__ = ["BY_NAME", "GLOBALS"]

GLOBALS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": quantity.quantity,
    "age": ages.age,
    "table": table.table,
    "top": ranking.top,
}
"""What they are called in a script."""

BY_NAME: Final[Mapping[str, Callable[..., Any]]] = {
    **GLOBALS,
    "parsequantity": quantity.parse_quantity,
    "toquantity": quantity.quantity,
    "parsecpu": quantity.quantity,
    "parsememory": quantity.quantity,
    "getage": ages.age,
    "formattable": table.table,
    "tabulate": table.table,
}
"""And as attributes of `k8s`, by folded name."""
