"""One source of a snapshot on disk: its description, and the files beside it. They may come from a stranger, so that
they are bounded, and decoded as what they must be.

    sources/<name>/source.json     the kind, the time range, what was asked (`Query`), what is missing and why
    sources/<name>/<operation>.json     an answer without arguments, as the source gave it: rules, alerts, silences …
    sources/<name>/queries/<number>.json     the answer of a range query; in `source.json` stands which
"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

import msgspec

from kubescript import errors
from kubescript.snapshot import saved_cluster, tree

__all__ = [
    "MAX_ANSWER", "MAX_FILE", "Answer", "Query", "Results", "SavedSource", "Series", "Stream", "not_captured",
    "open_sources", "too_large",
]  # fmt: skip

MAX_FILE: Final = 8 * tree.MIB
"""The maximum size of one file in bytes: a quarter of a million points."""
MAX_ANSWER: Final = 32 * tree.MIB
"""The maximum size in bytes of what one answer takes from several files; no masker takes more."""
_MAX_ABOUT: Final = tree.MIB
# Attack: 8 MiB of `{},` decode to 200 MiB, and a script asks eight times at once. So many parts take at most 40 MiB.
_MAX_PARTS: Final = 400_000
"""How many parts of one file are decoded. Files of 8 MiB have fewer if a part has 20 bytes."""
_MAX_SOURCES: Final = 64
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_Shape = TypeVar("_Shape")
_Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e11)]
"""A time in seconds since the epoch."""


class Query(msgspec.Struct, frozen=True):
    """One range query that was captured. Its answer is `queries/<its number>.json`, counted from 1."""

    query: Annotated[str, msgspec.Meta(max_length=8_000)]
    since: float = 0.0
    """Earlier lines were left out, in seconds since the epoch; 0: none."""


class _About(msgspec.Struct, frozen=True):
    """source.json."""

    kind: Literal["prometheus", "alertmanager", "loki"]
    start: _Seconds = 0.0
    """The beginning of the range queries, in seconds since the epoch."""
    end: _Seconds = 0.0
    """Their end, which is "now" for whoever asks."""
    step: Annotated[float, msgspec.Meta(ge=1)] = 60.0
    queries: Annotated[list[Query], msgspec.Meta(max_length=500)] = []

    @property
    def span(self) -> str:
        """The range as text."""
        first, last = (datetime.datetime.fromtimestamp(int(each), datetime.UTC) for each in (self.start, self.end))
        return f"from {first:%Y-%m-%dT%H:%M:%SZ} to {last:%Y-%m-%dT%H:%M:%SZ}"


class Series(msgspec.Struct):
    """One series: its labels, and its samples as JSON."""

    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"[]")


class Stream(msgspec.Struct):
    """One stream of log lines: its labels, and its lines, each with its time in nanoseconds."""

    stream: dict[str, str]
    values: list[tuple[str, str]] = []


class Results(msgspec.Struct, Generic[_Shape]):
    """The data of a query's answer."""

    result: list[_Shape]


class Answer(msgspec.Struct, Generic[_Shape]):
    """What Prometheus and Loki wrap their answers in."""

    data: _Shape
    warnings: list[str] | None = None


class SavedSource:
    """One saved source. Safe for use from many threads; it keeps nothing but its description."""

    def __init__(self, saved: saved_cluster.SavedCluster, name: str) -> None:
        """Raises ClusterError (cluster.broken) for a damaged description."""
        self.name = name
        self._saved = saved
        self._folder = (*saved.top, "sources", name)
        self.about: Final = self._decode("source.json", _About, _MAX_ABOUT)

    def read(self, operation: str) -> Any:
        """Returns the captured answer of an operation without arguments. Raises ClusterError."""
        return self._decode(f"{operation}.json", object)

    def read_series(self, number: int) -> list[Series]:
        """Returns the series of a query's answer. Raises ClusterError."""
        return self._decode(f"queries/{number}.json", Answer[Results[Series]]).data.result

    def read_streams(self, number: int) -> list[Stream]:
        """Returns the log streams of a query's answer. Raises ClusterError."""
        return self._decode(f"queries/{number}.json", Answer[Results[Stream]]).data.result

    def _decode(self, file: str, shape: type[_Shape], most: int = MAX_FILE) -> _Shape:
        path = (*self._folder, *file.split("/"))
        try:
            document = self._saved.files.read(path, most)
            if _count_parts(document, shape) > _MAX_PARTS:
                raise tree.Refused(f"it has more than {_MAX_PARTS} parts")
            return msgspec.json.decode(document, type=shape)
        except tree.Refused as error:
            raise saved_cluster.file_error(path, error.why) from None
        except FileNotFoundError:
            what = f"{self.name} {file.removesuffix('.json')}"
            why = self._saved.missing.get(what)
            raise not_captured(f"{what} was not captured{f': {why}' if why else ''}") from None
        except (OSError, msgspec.MsgspecError, RecursionError) as error:
            raise saved_cluster.file_error(path, f"it is damaged ({type(error).__name__})") from None


def _count_parts(document: bytes, shape: type[Any]) -> int:
    """Returns how many parts of a document are decoded, or a few more."""
    if shape is object:
        return document.count(b"{") + document.count(b"[") + document.count(b",")
    # Samples stay JSON, and lines have brackets and commas. Each text has two quotation marks, of which a backslash at
    # its end hides one.
    texts = (document.count(b'"') - document.count(rb"\"")) // 2
    return texts + document.count(b"{")


def open_sources(saved: saved_cluster.SavedCluster) -> dict[str, SavedSource]:
    """Returns the sources of a snapshot by name. Raises ClusterError (cluster.broken) for a damaged one."""
    if saved.info is None:
        return {}
    names = [name for name in saved.info.sources if _NAME.fullmatch(name)]  # each becomes a folder's name
    return {name: SavedSource(saved, name) for name in names[:_MAX_SOURCES]}


def not_captured(message: str) -> errors.ClusterError:
    """Returns the error for a question whose answer is not in the snapshot."""
    return errors.ClusterError(message, code="cluster.not_captured")


def too_large() -> errors.ClusterError:
    """Returns the error for an answer of more than `MAX_ANSWER`."""
    return errors.ClusterError(
        f"the snapshot's answer has more than {MAX_ANSWER // tree.MIB} MiB; write fewer or narrower selectors, or a "
        "smaller limit=",
        code="cluster.too_large",
    )
