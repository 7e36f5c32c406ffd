"""A table of cases in one test: where a case takes microseconds, a test of its own costs more than what it tests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_Test = Callable[..., None]


def check(cases: Mapping[str, Any] | Iterable[Any], holds: Callable[[Any], object]) -> None:
    """Tries every case, by its name in the table or as it reads; what failed is raised together, each with its name."""
    table = cases.items() if isinstance(cases, Mapping) else ((repr(case), case) for case in cases)
    failed: list[str] = []
    errors: list[Exception] = []
    for name, case in table:
        try:
            holds(case)
        except Exception as error:  # the others are tried as well
            error.add_note(f"in the case {name}")
            failed.append(name)
            errors.append(error)
    if errors:
        raise ExceptionGroup(f"these cases failed: {', '.join(failed)}", errors)


def each(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[object] | None = None
) -> Callable[[_Test], _Test]:
    """As `pytest.mark.parametrize`, in one test. All cases share its fixtures; the attacks that they tell are added up."""
    fields = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    rows = [tuple(value) if len(fields) > 1 else (value,) for value in values]
    texts = (
        map(str, ids)
        if ids is not None
        else (next((part for part in row if isinstance(part, str)), "") for row in rows)
    )
    table = {
        f"{at}: {text}": dict(zip(fields, row, strict=True))
        for at, (text, row) in enumerate(zip(texts, rows, strict=True))
    }

    def decorate(test: _Test) -> _Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            told: list[int] = []
            tell = fixtures.get("attacks")
            given = fixtures | ({"attacks": told.append} if tell else {})
            check(table, lambda case: test(**given, **case))
            if tell:
                tell(sum(told))

        kept = [each for name, each in signature.parameters.items() if name not in fields]
        vars(run).update(
            __signature__=signature.replace(parameters=kept), cases=len(table) * vars(test).get("cases", 1)
        )
        return run

    return decorate
