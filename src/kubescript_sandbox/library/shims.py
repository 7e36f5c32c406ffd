"""Guarded replacements for library functions that read attributes by name, write to their arguments or evaluate text.

stdlib.py replaces the functions of these names by MEMBERS.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import functools
import gzip
import hashlib
import inspect
import re
import textwrap
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any, Final

from kubescript_sandbox.language import classes, guards, named_tuples
from kubescript_sandbox.library import copying, data_classes, json_shims, wrappers

__all__ = ["MEMBERS"]

# Attack: a script decompresses a bomb. A Helm release is under 1 MiB.
MAX_INFLATED: Final = 64 * 1024 * 1024
"""The maximum number of bytes that one decompression yields."""


# --- functools, operator ----------------------------------------------------------------------------------------------


def _total_ordering(cls: type) -> type:
    if not classes.is_script_class(cls):
        raise TypeError("total_ordering works on classes defined in the script")
    return functools.total_ordering(cls)


def _follow(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = guards.dynamic(obj, name)
    return obj


def _attrgetter(*paths: str) -> Callable[[Any], Any]:
    """Replaces operator.attrgetter: reads through the guards."""
    if not paths or any(type(path) is not str for path in paths):
        raise TypeError("attribute name must be a plain string")
    if len(paths) == 1:
        return lambda obj: _follow(obj, paths[0])
    return lambda obj: tuple(_follow(obj, path) for path in paths)


def _methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Replaces operator.methodcaller: reads the method through the guards."""

    def call(obj: Any) -> Any:
        method = guards.dynamic(obj, name)
        return method(*args, **kwargs)

    return call


class _Annotated:
    """typing.Annotated for scripts: just the type. Python's own, when called, sets `__orig_class__` on what it
    returns."""

    def __class_getitem__(cls, annotated: tuple[Any, ...]) -> Any:
        return annotated[0]


# --- texts -----------------------------------------------------------------------------------------------------------


def _of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function on text, wrapped so that it accepts only real strings or bytes."""

    # Attack: a script passes an object to `re.escape(s)` or `textwrap.wrap(s)`, which hand `s.translate` a dict that
    # everybody shares.
    @functools.wraps(function)
    def of_text(text: Any, *args: Any, **options: Any) -> Any:
        plain = _text(text, function)
        return function(plain, *args, **options)

    return of_text


def _text(value: Any, function: Callable[..., Any]) -> Any:
    """Returns a string or bytes without its subclass. Raises TypeError for an object that only behaves like one."""
    kind = type(value)
    is_text = str in kind.__mro__ or bytes in kind.__mro__
    if not is_text:
        raise TypeError(f"{function.__name__}() takes text, not a {kind.__name__}")
    return _exact(value)


def _of_texts(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function, wrapped so that its text arguments are first made plain."""

    # Attack: a script calls `quote(s)`, which caches what `s.encode` returns in a table for all calls, in which the
    # script's `__hash__` and `__eq__` choose the place.
    @functools.wraps(function)
    def of_texts(*args: Any, **options: Any) -> Any:
        exact_args = map(_exact, args)
        exact_options = {name: _exact(value) for name, value in options.items()}
        return function(*exact_args, **exact_options)

    return of_texts


def _with_pattern(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of fnmatch, wrapped so that it accepts only text as patterns."""
    signature = inspect.signature(function)

    # Attack: a script passes a pattern object whose `__getitem__` passes strings to `re.escape`.
    @functools.wraps(function)
    def with_pattern(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options)
        pattern = given.arguments["pat"]
        given.arguments["pat"] = _text(pattern, function)
        return function(*given.args)

    return with_pattern


_EXACT: Final[dict[type, Callable[[Any], Any]]] = {
    str: str.__str__,
    bytes: lambda text: bytes.__getitem__(text, slice(None)),
    bytearray: lambda text: bytearray.__getitem__(text, slice(None)),
}


def _exact(value: Any) -> Any:
    """Returns a string or bytes of a script's own class as a plain one; any other value unchanged."""
    kind = type(value)
    if kind in _EXACT:
        return value
    for base, exact in _EXACT.items():
        if base in kind.__mro__:
            return exact(value)
    return value


_quote_plus: Final = _of_texts(urllib.parse.quote_plus)


def _urlencode(  # has the parameters of Python's
    query: Any,
    doseq: Any = False,
    safe: Any = "",
    encoding: Any = None,
    errors: Any = None,
    quote_via: Callable[..., Any] = _quote_plus,
) -> str:
    """Replaces urllib.parse.urlencode: the strings inside its arguments are made plain too."""
    return urllib.parse.urlencode(query, doseq, safe, encoding, errors, quote_via)


# --- compression ------------------------------------------------------------------------------------------------------


def _inflate(data: bytes, wbits: int = zlib.MAX_WBITS) -> bytes:
    """Replaces zlib.decompress, with a cap on the output."""
    stream = zlib.decompressobj(wbits)
    out = stream.decompress(data, MAX_INFLATED)
    if stream.unconsumed_tail:
        raise ValueError(f"the data inflates to more than {MAX_INFLATED >> 20} MiB")
    if not stream.eof:
        raise zlib.error("incomplete or truncated stream")
    return out


def _gunzip(data: bytes) -> bytes:
    """Replaces gzip.decompress, with a cap on the output; reads one member."""
    return _inflate(data, zlib.MAX_WBITS | 16)


def _gzip(data: bytes, compresslevel: int = 9) -> bytes:
    """Replaces gzip.compress: omits the time, so that equal data stay equal."""
    return gzip.compress(data, compresslevel, mtime=0)


def _unless_masked(decode: Callable[..., bytes]) -> Callable[..., bytes]:
    """Returns a decoder whose error names a Secret's mask, instead of reporting only that the text is not base64."""

    @functools.wraps(decode)
    def decoded(text: Any, *args: Any, **options: Any) -> bytes:
        if isinstance(text, str) and "\u00abredacted:" in text:
            shown = text[:60]
            raise binascii.Error(f"{shown} is a mask: values of Secrets do not enter scripts; their size is in it")
        return decode(text, *args, **options)

    return decoded


MEMBERS: Final[dict[str, dict[str, object]]] = {
    "base64": {
        name: _unless_masked(getattr(base64, name)) for name in ("b64decode", "standard_b64decode", "urlsafe_b64decode")
    },
    "json": {"loads": json_shims.loads, "dumps": json_shims.dumps},
    "collections": {"namedtuple": named_tuples.namedtuple},
    "dataclasses": data_classes.MEMBERS,
    "copy": {"copy": copying.shallow, "deepcopy": copying.deep},
    "types": {"SimpleNamespace": classes.SimpleNamespace},
    "typing": {"Annotated": _Annotated, "NamedTuple": named_tuples.NamedTuple},
    "enum": dict(classes.ENUMS),
    "functools": {"total_ordering": _total_ordering},
    "operator": {"attrgetter": _attrgetter, "methodcaller": _methodcaller},
    "re": {"escape": _of_text(re.escape)},
    "textwrap": {name: _of_text(getattr(textwrap, name)) for name in ("fill", "shorten", "wrap")},
    "fnmatch": {
        name: _with_pattern(getattr(fnmatch, name)) for name in ("fnmatch", "fnmatchcase", "filter", "translate")
    },
    "urllib.parse": {
        **{name: _of_texts(getattr(urllib.parse, name)) for name in ("quote", "quote_from_bytes")},
        "quote_plus": _quote_plus,
        "urlencode": _urlencode,
    },
    "hashlib": {"algorithms_guaranteed": frozenset(hashlib.algorithms_guaranteed)},
    "zlib": {"decompress": _inflate},
    "gzip": {"decompress": _gunzip, "compress": _gzip},
}
for _module, _members in wrappers.MEMBERS.items():
    MEMBERS.setdefault(_module, {}).update(_members)
"""Module ▶ name ▶ its replacement."""
