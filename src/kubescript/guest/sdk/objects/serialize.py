"""Turns a script's values into JSON: `encode` and `to_plain` for its result, with bookkeeping fields pruned, and
`encode_body` for request bodies.

Generators are read up to a limit. The error for a cycle, or for a value without a JSON form, names the path to it:
"result[0].owner is a function".
"""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import fractions
import ipaddress
import math
import types
from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.objects import base_view, list_objects, series
from kubescript.guest.sdk.values import context, lazy_json, quantity_number, timestamps
from kubescript_sandbox.language import classes
from kubescript_sandbox.library import data_classes

__all__ = ["NotPlainError", "encode", "encode_body", "to_plain"]

MAX_ITERATED: Final = 100_000
"""How many elements are taken from a generator."""

# There is a limit because the encoder that runs afterwards recurses in C.
MAX_DEPTH: Final = 200
"""How many levels of nesting are allowed."""

_PATH: Final = 60
"""How many characters of an overly deep path the error shows."""

# These fields are bookkeeping and cost tokens. A script that wants one returns it by name: `pod.metadata.uid`.
PRUNED_METADATA: Final = frozenset({"managedFields", "resourceVersion", "uid", "generation", "selfLink"})
"""Fields of metadata that are left out of results."""
# Half of an alert is the URL of its rule.
PRUNED_OF_SOURCES: Final = frozenset({"evaluationTime", "fingerprint", "generatorURL", "lastEvaluation", "updatedAt"})
"""The same fields of alerts and rules in the answers of sources."""
LABELS: Final = frozenset({"annotations", "labels"})
"""Fields whose keys are a user's own."""
REFERENCES: Final = frozenset({"ownerReferences", "involvedObject", "regarding", "targetRef", "claimRef"})
"""Fields that refer to another object; a reader needs only the object's name."""
NOISE: Final = frozenset({
    "annotations", "creationTimestamp", "labels", "loadBalancer", "resources", "securityContext", "status", "strategy",
})  # fmt: skip
"""Fields that mean nothing when empty. Others mean something even when empty: `emptyDir: {}`, `podSelector: {}`."""
# This annotation's value is a second copy of the whole object.
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

_TEXTS: Final = frozenset({
    *(fractions.Fraction, complex),
    *(ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network),
})  # fmt: skip
"""Types whose string form is the complete value."""
_SEQUENCES: Final = (list_objects.ListObject, list, tuple, range, Iterator)
_SEQUENCE_NAMES: Final = frozenset({"dict_keys", "dict_values", "dict_items", "deque"})
"""Further types that become lists, by name."""


class NotPlainError(TypeError):
    """A value has no JSON form; the message names the path to it."""


def to_plain(value: Any, name: str = "result", *, prune: bool = True) -> Any:
    """Returns JSON data: dicts with str keys, lists, str, int, float, bool, None. Raises NotPlainError, which names the
    path."""
    return _Walk(prune).convert(value, name, ())


def encode(value: Any) -> bytes:
    """Returns a script's value as JSON text, pruned."""
    data = to_plain(value)
    try:
        return lazy_json.encode(data)
    except UnicodeEncodeError:
        return lazy_json.encode(_encodable(data))


def _encodable(data: Any) -> Any:
    """Returns JSON data with `?` in place of each lone surrogate, as in printed text."""
    # A lone surrogate is half a character and has no UTF-8 bytes.
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode()
    if isinstance(data, dict):
        return {_encodable(key): _encodable(each) for key, each in data.items()}
    if isinstance(data, list):
        return [_encodable(each) for each in data]
    return data


def encode_body(value: Any) -> msgspec.Raw:
    """Returns a request body as JSON text. Raises TypeError when it is not an object or a list."""
    if isinstance(value, str | bytes):
        raise TypeError("body must be a dict, a list or a client.V1… object, not text; decode it first")
    return msgspec.Raw(lazy_json.encode(base_view.unwrap(value)))


class _Walk:
    """One conversion. `above` has the ids of the containers around a value, to detect cycles and limit the depth."""

    def __init__(self, prune: bool) -> None:
        self._prune = prune

    def convert(self, value: Any, path: str, above: tuple[int, ...]) -> Any:
        """Returns one value as JSON data."""
        kind = type(value)
        if kind in (str, bool, type(None)):
            return value
        if isinstance(value, enum.Enum):
            return self.convert(value.value, path, above)
        if isinstance(value, int | float | decimal.Decimal | quantity_number.Quantity):
            return _number(value)
        if isinstance(value, str):
            return str.__str__(value)
        own_id = id(value)
        if own_id in above:
            raise NotPlainError(f"{path} contains itself")
        if len(above) > MAX_DEPTH:
            start = path[:_PATH]
            raise NotPlainError(f"{start}… is nested deeper than {MAX_DEPTH} levels; return a part of it")
        found = self._scalar(value)
        if found is not None:
            return found
        return self._container(value, path, (*above, own_id))

    def _scalar(self, value: Any) -> str | None:
        """Returns the text of a time, of bytes or of an exception; None for other values."""
        if isinstance(value, datetime.datetime | datetime.date):
            return timestamps.format_time(value)
        if isinstance(value, datetime.time):
            return value.isoformat()
        if isinstance(value, bytes | bytearray):
            return bytes_text(bytes(value))
        if isinstance(value, datetime.timedelta) or type(value) in _TEXTS:
            return str(value)
        if isinstance(value, BaseException):
            return f"{type(value).__name__}: {value}"
        return None

    def _container(self, value: Any, path: str, above: tuple[int, ...]) -> Any:
        """Converts a value that contains other values."""
        if isinstance(value, base_view.BaseView):
            is_of_source = value._shape.find_object is not None
            return self._view(lazy_json.whole(value._own()), is_of_source=is_of_source)
        if isinstance(value, Mapping):
            found: dict[str, Any] = {}
            for key, each in value.items():
                converted = self.convert(each, f"{path}[{key!r}]", above)
                text = unlike(key_text(key), key, found)
                found[text] = converted
            return found
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            named = value._asdict()
            return {key: self.convert(each, f"{path}.{key}", above) for key, each in named.items()}
        if isinstance(value, set | frozenset):
            return self._elements(_sort(value), path, above)
        if isinstance(value, _SEQUENCES) or type(value).__name__ in _SEQUENCE_NAMES:
            return self._elements(value, path, above)
        return self._object(value, path, above)

    def _object(self, value: Any, path: str, above: tuple[int, ...]) -> Any:
        """Converts an object with fields: a dataclass, one of the script's own classes, `ctx`."""
        if isinstance(value, context.Context):
            return value.to_dict()
        if data_classes.is_instance(value):
            names = [field.name for field in data_classes.fields(value)]
        elif classes.is_script_class(type(value)):
            names = [name for name in vars(value) if not name.startswith("_")]
            if not names:
                own_form = _represent(value)
                if own_form is not None:
                    return self.convert(own_form, path, above)
        else:
            kind = "class" if isinstance(value, type) else type(value).__name__
            article = "an" if kind[0] in "AEIOaeiou" else "a"
            raise NotPlainError(f"{path} is {article} {kind}{_instead(value)}")
        return {name: self.convert(getattr(value, name), f"{path}.{name}", above) for name in names}

    def _elements(self, values: Any, path: str, above: tuple[int, ...]) -> list[Any]:
        """Converts each element. Raises NotPlainError for a generator beyond the limit."""
        found: list[Any] = []
        for index, each in enumerate(values):
            # Only an iterator, such as a generator, can be endless.
            if isinstance(values, Iterator) and index >= MAX_ITERATED:
                raise NotPlainError(f"{path} is a generator that gave more than {MAX_ITERATED} values; return a list")
            found.append(self.convert(each, f"{path}[{index}]", above))
        return found

    def _view(self, data: Any, *, is_of_source: bool) -> Any:
        """Prunes the data of a view."""
        # Decoded JSON has no cycles and only JSON types, so it needs no conversion.
        if not self._prune:
            return data
        _prune(data)
        if is_of_source:
            _prune_of_source(data)
        return data


def _represent(value: Any) -> Any:
    """Returns `to_dict()` or the text of an object without public fields; None if its class defines neither."""
    kind = type(value)
    if callable(getattr(kind, "to_dict", None)):
        return value.to_dict()
    # The last class is `object`, whose text is an address in memory.
    for each in kind.__mro__[:-1]:
        if "__str__" in vars(each) or "__repr__" in vars(each):
            return str(value)
    return None


def _instead(value: Any) -> str:
    """Returns what to write instead of a value that is not data."""
    kind = type(value)
    # The class is compared by name, since its module imports this one.
    if (kind.__module__, kind.__name__) == ("kubescript.guest.sdk.calls.methods", "Method"):
        return f": call it, {value.name}(...)"
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        name = getattr(value, "__name__", "it").replace("<lambda>", "f")
        return f": call it, {name}(...), and return what it gives"
    if isinstance(value, type):
        return f", {value.__name__}: return objects of it, or its name"
    if kind.__module__.startswith("kubescript.guest.sdk."):
        return ", not data: call one of its methods"
    return ", which has no JSON form; return str, numbers, lists or dicts"


def _prune(data: Any) -> None:
    """Removes bookkeeping and meaningless empty fields from an object, at every depth."""
    if isinstance(data, list):
        for item in data:
            _prune(item)
    elif isinstance(data, dict):
        # The script returns only an object's metadata.
        if PRUNED_METADATA & data.keys() and "name" in data:
            _prune_metadata(data)
        empty = [key for key, item in data.items() if _prune_field(key, item)]
        for key in empty:
            del data[key]


def _prune_of_source(data: Any) -> None:
    """Removes bookkeeping from alerts and rules, at every depth."""
    if isinstance(data, list):
        for item in data:
            _prune_of_source(item)
    elif isinstance(data, dict):
        _drop(data, PRUNED_OF_SOURCES)
        for key in data.keys() - LABELS:
            _prune_of_source(data[key])


def _prune_field(key: str, item: Any) -> bool:
    """Prunes inside one field. Returns True if the field itself is to be removed."""
    if key == "metadata" and isinstance(item, dict):
        _prune_metadata(item)
    elif key in REFERENCES:
        for reference in item if isinstance(item, list) else [item]:
            if isinstance(reference, dict):
                _drop(reference, PRUNED_METADATA)
    _prune(item)
    return not item and item not in (0, False, "") and (item is None or key in NOISE)


def _drop(data: dict[str, Any], keys: frozenset[str]) -> None:
    for key in keys & data.keys():
        del data[key]


def _prune_metadata(metadata: dict[str, Any]) -> None:
    """Removes bookkeeping from an object's metadata."""
    _drop(metadata, PRUNED_METADATA)
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return
    removed = annotations.pop(LAST_APPLIED, None)
    if removed is not None and not annotations:
        del metadata["annotations"]


def _number(value: Any) -> Any:
    """Returns a number that JSON can hold exactly."""
    if isinstance(value, quantity_number.Quantity):
        return value.plain()
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, series.Sample):
        value = series.plain(value)
    # The encoder does not know subclasses of int and float that a script may define.
    if isinstance(value, float):
        return _float(float(value))
    if type(value) not in (bool, int):
        return int(value)
    return value


def _float(value: float) -> float | str:
    """Returns the number; as text if JSON has no such number."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _decimal(value: decimal.Decimal) -> int | float | str:
    """Returns the exact value: as a JSON number if one can hold it, or else as a string."""
    # Attack: as an int, Decimal("1e999999999") would have a billion digits.
    if not value.is_finite() or abs(value) >= 10**30:
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    near = float(value)
    return near if decimal.Decimal(repr(near)) == value else str(value)


def _sort(values: Any) -> list[Any]:
    """Returns the elements of a set in an order that is the same in every run."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def key_text(key: Any) -> str:
    """Returns a dict key as JSON text."""
    if isinstance(key, enum.Enum):
        # Not a loop: an enum whose value is itself ends in a RecursionError.
        return key_text(key.value)
    return _plain_key_text(key)


def _plain_key_text(key: Any) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, bytes):
        return bytes_text(key)
    if isinstance(key, datetime.datetime | datetime.date):
        return timestamps.format_time(key)
    if isinstance(key, tuple):
        parts = [key_text(part) for part in key]
        return "/".join(parts)
    # These keys are written as json.dumps writes them.
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key)


def unlike(text: str, key: Any, taken: Container[str]) -> str:
    """Returns the key's text, followed by the key's type if the text is already taken."""
    # 80 and "80" are two keys of a dict, and neither may overwrite the other.
    while text in taken:
        text += f" ({type(key).__name__})"
    return text


def bytes_text(data: bytes) -> str:
    """Returns UTF-8 bytes as a string, and other bytes in base64, as Kubernetes writes them."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()
