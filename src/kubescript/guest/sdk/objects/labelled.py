"""Provides `Labelled`, what series and streams of sources have in common: their labels, and the object these name.

It is a mapping of what `table` and results show: each label, and then a few figures.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

import msgspec

from kubescript.guest.sdk.values import masks, names

__all__ = ["Labelled", "Objects", "find_common", "find_shared"]

_decode_labels: Final = msgspec.json.Decoder(dict[str, str]).decode
_LISTED: Final = 20
"""How many labels an error lists."""


class Objects(Protocol):
    """Finds the objects that labels name."""

    def find(self, labels: Mapping[str, str], kind: str = "") -> Any:
        """Returns the object, of this kind or else of the kind that the labels suggest; None if there is none."""


class Labels(dict[str, str]):
    """Labels by name; `labels.pod` is `labels["pod"]`."""

    __slots__ = ()

    # The guard of writes checks this: a script may change its labels.
    _guarded_writes: ClassVar[bool] = True

    def __getattr__(self, name: str) -> str:
        if name in self:
            return self[name]
        raise AttributeError(f"there is no label {name!r}; {names.suggestion(name, self, _LISTED)}")


class Labelled(Mapping[str, Any]):
    """One series or stream. Its labels are decoded when a script first reads them."""

    __slots__ = ("_labels", "_objects", "_raw_labels")

    _parts: ClassVar[tuple[str, ...]]
    """What it has besides labels, for errors."""

    def __init__(self, labels: msgspec.Raw, objects: Objects) -> None:
        self._raw_labels = labels
        self._objects = objects
        self._labels: Labels | None = None

    @property
    def labels(self) -> Labels:
        """The labels by name."""
        if self._labels is None:
            text = masks.note(bytes(self._raw_labels))
            self._labels = Labels(_decode_labels(text))
        return self._labels

    @property
    def metric(self) -> Labels:
        """The labels, by Prometheus' name."""
        return self.labels

    @property
    def stream(self) -> Labels:
        """The labels, by Loki's name."""
        return self.labels

    def pod(self) -> Any:
        """The pod that the labels `namespace` and `pod` name; None if there is none now. The first one of a namespace
        lists its pods, which is one call."""
        return self._objects.find(self.labels, "pod")

    def object(self) -> Any:
        """The object that the labels name, such as the deployment, the claim, the pod or the node; None if there is
        none now. The first one of a kind and namespace lists these, which is one call."""
        return self._objects.find(self.labels)

    @abc.abstractmethod
    def _figures(self) -> dict[str, Any]:
        """Returns what follows the labels in tables and results."""

    def _row(self) -> dict[str, Any]:
        return {**self.labels, **self._figures()}

    def __getitem__(self, key: str) -> Any:
        # Attack: a script's own class of str equals each part, and has the text of a private attribute.
        for part in self._parts:
            if key == part:
                return getattr(self, part)
        if key in self.labels:
            return self.labels[key]
        hint = names.suggestion(key, [*self.labels, *self._parts], _LISTED)
        raise KeyError(f"this {type(self).__name__} has no {key!r}; {hint}")

    def __getattr__(self, name: str) -> Any:
        is_label = not name.startswith("_") and name in self.labels
        hint = f"write .labels[{name!r}]" if is_label else names.suggestion(name, dir(self), _LISTED)
        raise AttributeError(f"this {type(self).__name__} has no {name!r}; {hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._row())

    def __len__(self) -> int:
        return len(self._row())

    def __dir__(self) -> list[str]:
        return [*self._parts, "object", "pod"]

    def _selector(self) -> str:
        """Returns the labels as PromQL writes them, such as `up{job="web"}`."""
        name = self.labels.get("__name__", "")
        others = [f'{key}="{value}"' for key, value in self.labels.items() if key != "__name__"]
        return f"{name}{{{', '.join(others)}}}"


def find_common(rows: Sequence[Any]) -> Mapping[str, str]:
    """Returns the labels that have the same value in several series or streams, and so tell a reader of a table
    nothing; none if one of the rows is anything else."""
    if not all(isinstance(row, Labelled) for row in rows):
        return {}
    return find_shared([row.labels for row in rows])


def find_shared(labels: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Returns the labels that have the same value in several sets of labels; none for a single set."""
    if len(labels) < 2:
        return {}
    return {name: value for name, value in labels[0].items() if all(each.get(name) == value for each in labels)}
