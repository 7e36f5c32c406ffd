"""Provides `k8s.parallel([...])`: several API calls, at most 8, at the same time, with results in order.

A script passes functions without arguments (a lambda, a `functools.partial`, a method), tuples of a method and its
arguments, or values. The result of a failed call is its ApiException.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeGuard

from kubescript.guest.sdk.calls import batching
from kubescript.guest.sdk.values import exceptions

__all__ = ["Parallel"]

_OPTIONS: Final = frozenset({"max_workers", "workers", "concurrency", "max_concurrency", "limit", "timeout", "n"})
"""Keywords of other libraries that are accepted and have no effect: at most 8 calls are in flight in any case."""
_EXAMPLE: Final = "k8s.parallel([lambda ns=ns: k8s.coreV1().list_namespaced_pod(ns) for ns in names])"


class Parallel:
    """k8s.parallel([lambda ns=ns: k8s.coreV1().list_namespaced_pod(ns) for ns in names]).

    At most 8 API calls at a time, results in order; a failed call leaves its ApiException in its place. Also tuples
    (k8s.coreV1().read_node, name), a dict of lambdas, or k8s.parallel(function, values). Functions run once, in turns:
    each goes on when it has its answer."""

    __slots__ = ("_relay",)

    def __init__(self, link: batching.Relay) -> None:
        self._relay = link

    def __call__(self, *given: Any, return_exceptions: bool = True, **options: Any) -> Any:
        """Results in order: of a list or generator of calls, of calls as arguments, or of a function for each value
        (`k8s.parallel(read, names)`). Of a dict, a dict."""
        if unknown := options.keys() - _OPTIONS:
            raise TypeError(f"k8s.parallel has no option {min(unknown)!r}; write {_EXAMPLE}")
        works = _works(given)
        by_name = isinstance(works, dict)
        values = list(works.values() if by_name else works)
        tasks = [_task(value) for value in values]
        outcomes = self._relay.run(tasks, _check)
        results = [_keep_result(*each, keep=return_exceptions) for each in outcomes]
        if by_name:
            return dict(zip(works, results, strict=True))
        return results

    def __repr__(self) -> str:
        return f"{_EXAMPLE}: at most 8 calls at a time, results in order; a failed call is its ApiException"


def _keep_result(value: Any, error: Exception | None, *, keep: bool = True) -> Any:
    """Returns the result of one task: its value, or the exception of a failed call. Raises any other exception."""
    if error is None:
        return value
    # An exception that is not a failed call or a used-up budget is a mistake in the script.
    is_failed_call = isinstance(error, exceptions.ApiException)
    if keep and (is_failed_call or getattr(error, "code", "") in {"limit.calls", "limit.bytes"}):
        return error
    raise error


# --- a script's arguments -----------------------------------------------------------------------------------------


def _works(given: tuple[Any, ...]) -> Any:
    """Returns the works in the arguments of a call; returns a dict if the script passes one."""
    if len(given) == 1 and not _is_work(given[0]):
        return given[0]
    if len(given) == 2 and not _is_work(given[1]):
        function, values = given
        if _is_function(function):
            return [functools.partial(function, value) for value in values]
    return given


def _is_work(value: Any) -> bool:
    """Says whether a value is a function, or a tuple of a function and its arguments."""
    if not isinstance(value, tuple):
        return _is_function(value)
    if not value or not _is_function(value[0]):
        return False
    # Several functions in a tuple are several works.
    return len(value) == 1 or not all(map(_is_function, value))


def _is_function(value: Any) -> TypeGuard[Callable[..., Any]]:
    """Says whether a value is a function or a method."""
    # `callable` would not be suitable: lists of the SDK can be called as well, but are values.
    return isinstance(value, _FUNCTIONS)


_FUNCTIONS: Final = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial, batching.Sends),
    type(functools.cache(len)),
)


def _task(work: Any) -> batching.Task:
    if _is_function(work):
        return work
    if _is_work(work):
        return _bind_task(work)
    # The script has made the call already: `k8s.parallel([v1.list_node()])`.
    return lambda: work


def _bind_task(work: tuple[Any, ...]) -> batching.Task:
    """Returns the task of a tuple: (method, a, b), (method, (a, b)), (method, (a,), {"limit": 5}) or (list method, a,
    {"limit": 5})."""
    function, *args = work
    options: dict[str, Any] = {}
    packed = len(args) == 2 and isinstance(args[0], list | tuple)
    # A dict at the end may be the body; for a function without a body, the dict has the options.
    without_body = isinstance(function, batching.Sends) and not function.takes_body
    if args and type(args[-1]) is dict and (without_body or packed):
        options = args.pop()
    sequences = list | tuple if options else tuple
    if len(args) == 1 and isinstance(args[0], sequences):
        args = list(args[0])
    return functools.partial(function, *args, **options)


def _check(works: Sequence[batching.Work]) -> None:
    """Raises an error for a mistake of the script before any call is sent."""
    for each in works:
        _keep_result(*each.outcome)
    # In `[lambda: read(name) for name in names]` each lambda reads the last name: a frequent mistake.
    codes = {getattr(each.task, "__code__", None) for each in works}
    if len(works) < 2 or len(codes) > 1:
        return
    code = codes.pop()
    if code is None or code.co_name != "<lambda>" or code.co_argcount:
        return
    first = works[0].calls
    if first and all(each.calls == first for each in works):
        raise ValueError(f"all {len(works)} lambdas make the same call; bind the loop variable: {_EXAMPLE}")
