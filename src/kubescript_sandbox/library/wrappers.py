"""Replacements for library functions that wrap functions: wraps, cache, lru_cache, contextmanager, abstractmethod.

Python's functions copy the `__dict__` of any argument and set dunder attributes on it. These do so only with functions
that a script wrote; any other callable is first wrapped in a new function. shims.py adds MEMBERS to its own.
"""

from __future__ import annotations

import abc
import functools
import types
from collections.abc import Callable
from typing import Any, Final

from kubescript_sandbox.language import classes

__all__ = ["MEMBERS"]


def _is_script_function(value: object) -> bool:
    return type(value) is types.FunctionType and value.__module__ == classes.MODULE


def _wraps(wrapped: Any, **unused: Any) -> Callable[[Any], Any]:
    """Replaces functools.wraps: copies name and docstring only."""
    # Attack: a script passes the option `assigned`, which reads and writes any attribute.
    if unused:
        raise TypeError("functools.wraps takes the wrapped function only")

    def decorate(wrapper: Any) -> Any:
        if _is_script_function(wrapper):
            _rename(wrapper, wrapped)
        return wrapper

    return decorate


def _rename(function: Any, wrapped: object) -> None:
    name = getattr(wrapped, "__name__", function.__name__)
    if type(name) is str:
        function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(wrapped, "__doc__", None)


def _callable(function: Any) -> Any:
    """Returns a script's function unchanged, and any other callable inside a new function without attributes."""
    if _is_script_function(function):
        return function
    if not callable(function):
        raise TypeError(f"a {type(function).__name__} is not callable")

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    _rename(call, function)
    return call


def _lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """Replaces functools.lru_cache, with or without parentheses."""
    if callable(maxsize):
        return functools.lru_cache()(_callable(maxsize))
    return lambda function: functools.lru_cache(maxsize, typed)(_callable(function))


def _cache(function: Any) -> Any:
    """Replaces functools.cache."""
    return functools.cache(_callable(function))


def _abstractmethod(function: Any) -> Any:
    """Replaces abc.abstractmethod, which sets `__isabstractmethod__`: accepts only methods that a script wrote."""
    if not _is_script_function(function):
        raise TypeError("abstractmethod works on methods defined in the script, below @property or @classmethod")
    return abc.abstractmethod(function)


class GeneratorContext:
    """Returned by a function under @contextmanager: runs one generator around one `with` block."""

    __slots__ = ("_generator", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._generator = make()
        if type(self._generator) is not types.GeneratorType:
            raise TypeError("@contextmanager needs a function that yields once")

    def __enter__(self) -> Any:
        try:
            return next(self._generator)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if error is None:
            return self._finish()
        try:
            self._generator.throw(error)
        except StopIteration as stop:
            return stop is not error  # a StopIteration that the block raised is raised again
        except BaseException as raised:
            if raised is error or (isinstance(error, StopIteration) and raised.__cause__ is error):
                return False
            raise
        raise RuntimeError("generator didn't stop after throw()")

    def _finish(self) -> bool:
        try:
            next(self._generator)
        except StopIteration:
            return False
        raise RuntimeError("generator didn't stop")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a decorated function: each call runs in a new `with` block."""

        def inside(*args: Any, **kwargs: Any) -> Any:
            with GeneratorContext(self._make):
                return function(*args, **kwargs)

        _rename(inside, function)
        return inside


def _contextmanager(function: Any) -> Any:
    """Replaces contextlib.contextmanager."""

    def make(*args: Any, **kwargs: Any) -> GeneratorContext:
        return GeneratorContext(lambda: function(*args, **kwargs))

    _rename(make, function)
    return make


MEMBERS: Final[dict[str, dict[str, object]]] = {
    "abc": {"abstractmethod": _abstractmethod},
    "contextlib": {"contextmanager": _contextmanager},
    "functools": {"cache": _cache, "lru_cache": _lru_cache, "wraps": _wraps},
}
"""Module ▶ name ▶ the replacement."""
