"""Assigns a call's values to the parameters of a method that is made for a script's class.

`dataclass` and `namedtuple` learn the names only when the script runs. Python's own write and execute source code with
these names; ours make methods that take `*args, **kwargs` and ask a `Parameters` for the values.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

__all__ = ["Parameters", "require_plain"]


def require_plain(options: Mapping[str, object]) -> None:
    """Raises TypeError unless the names of options are plain strings."""
    # Attack: a script calls `dumps(x, **{S("cls"): C})`, where the `__eq__` of S denies that this is `cls`, but tells
    # json that it is.
    if any(type(name) is not str for name in options):
        raise TypeError("the name of an option must be a plain string")


class Parameters:
    """The names after `self`, with their defaults: first those that may be given by position, then the others."""

    __slots__ = ("_defaults", "_function", "_names", "_pick", "_required", "_values", "positional")

    def __init__(self, function: str, names: Sequence[str], positional: int, defaults: Mapping[str, Any]) -> None:
        self._function = function
        self._names = tuple(names)
        self.positional = positional
        self._defaults = defaults
        self._values = tuple(map(defaults.get, names))
        self._pick: Any = self._pick_few
        if len(names) > 1:
            self._pick = operator.itemgetter(*names)
        self._required = 0
        for place, name in enumerate(names, 1):
            if name not in defaults:
                self._required = place

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the values in the order of the names. Raises the TypeError that Python raises."""
        count = len(args)
        if not kwargs and self._required <= count <= self.positional:
            return args + self._values[count:]
        names = self._names[count:]
        given = kwargs if len(kwargs) == len(names) else {**self._defaults, **kwargs}
        try:
            values = tuple(map(given.__getitem__, names)) if count else self._pick(given)
        except KeyError:
            self._refuse(args, kwargs)
        unused = len(given) != len(names) and not kwargs.keys() <= set(names)
        if unused or count > self.positional:
            self._refuse(args, kwargs)
        return args + values if count else values

    def _pick_few(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        values = [given[name] for name in self._names]
        return tuple(values)

    def _refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        """Raises the TypeError that Python raises for these arguments."""
        count = len(args)
        given = self._names[:count]
        for name in kwargs:
            if name in given:
                raise TypeError(f"{self._function}() got multiple values for argument {name!r}")
            if name not in self._names:
                raise TypeError(f"{self._function}() got an unexpected keyword argument {name!r}")
        if count > self.positional:
            raise TypeError(f"{self._function}() takes {self._takes()} but {count + 1} were given")
        unset = [name for name in self._names[count:] if name not in kwargs]
        lacking = [name for name in unset if name not in self._defaults]
        positional = [name for name in lacking if name in self._names[: self.positional]]
        names = [repr(name) for name in positional or lacking]
        kind = "positional" if positional else "keyword-only"
        plural = "s" if len(names) > 1 else ""
        raise TypeError(
            f"{self._function}() missing {len(names)} required {kind} argument{plural}: {_list_names(names)}"
        )

    def _takes(self) -> str:
        """Returns how many positional arguments there may be, in words. Python counts `self` too."""
        most = self.positional + 1
        optional = [name for name in self._names[: self.positional] if name in self._defaults]
        least = most - len(optional)
        count = f"from {least} to {most}" if optional else f"{most}"
        plural = "s" if most > 1 else ""
        return f"{count} positional argument{plural}"


def _list_names(names: list[str]) -> str:
    """Returns names as a list in English: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    if len(names) < 3:
        return " and ".join(names)
    first = ", ".join(names[:-1])
    return f"{first}, and {names[-1]}"
