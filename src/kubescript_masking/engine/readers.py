"""Chooses the reader that judges a probe's hit in a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kubescript_masking.engine import blocks, columns, groups, pairs, secret_objects
from kubescript_masking.engine.allowances import Allowances
from kubescript_masking.engine.scanner import Hit
from kubescript_masking.rules import commands, drawn, keys, patterns, shapes
from kubescript_masking.text import encodings, json_strings
from kubescript_masking.text.spans import Span

__all__ = ["Readers"]

Reader = Callable[[bytes, int], Iterable[Span]]
"""Judges a hit, given the text and the place where the hit ends."""
Unfold = Callable[[encodings.Run | None], Span]
"""Masks the content of an encoded run."""

# Attack: an attacker makes a pod log ten megabytes in one line, to slow down masking.
_NEAR: Final[dict[str, Reader]] = {**pairs.READERS, "insert": columns.insert, "drawn": drawn.token}
"""Readers that judge a value by the text in front of it, within a bounded distance."""
_REGIONS: Final = {"below": blocks.in_text, "group": groups.group}
"""Readers of values in brackets after a name, or on the lines around it."""
_FAR: Final[dict[str, Reader]] = {"command": commands.command, "columns": columns.columns, "jwt": keys.jwt}
"""Readers that continue after a hit. A span without a kind says how far they have read."""


class Readers:
    """The readers of one server."""

    def __init__(self, ids: Sequence[str], shaped: Iterable[shapes.Rule], allowances: Allowances) -> None:
        """`ids` are those of the scanner's probes."""
        self._ids = ids
        self._allowances = allowances
        self._shapes = {rule.id: rule for rule in shaped}

    def may_find(self, text: bytes, hits: Sequence[Hit]) -> bool:
        """Says whether a value may be secret: not if each hit is a pair whose name promises nothing, such as Java's
        `AuthenticationTokenFilter : …`. The strings of JSON are judged by more names."""
        return text.startswith(json_strings.OPENINGS) or any(
            self._ids[probe] != "pair" or pairs.promises(text, end) for probe, end in hits
        )

    def find(self, text: bytes, hits: Sequence[Hit], unfold: Unfold) -> Iterator[Span]:
        """Yields the secrets in a text, found from a scan's hits."""
        found: Iterable[Span]
        far: Mapping[str, Reader] = {}
        done: dict[str, int] = {}
        regions = groups.Regions()
        for probe, end in hits:
            name = self._ids[probe]
            read = done.get(name, 0)
            # Attack: an attacker sends 300 KB of `"tokens":{"a":"b",`. It took 7.8 s while two readers shared an id and
            # so read everything again.
            if end <= read:
                continue
            if name in self._shapes:  # a value with a secret's shape is secret under any name
                found, done[name] = self._shapes[name].spans(text, end, read)
                yield from found
            elif name in patterns.ROWS:
                found, done[name] = patterns.ROWS[name].spans(text, end, read)
                yield from self._allowances.drop(found, text)
            elif name in _NEAR:
                found = _NEAR[name](text, end)
                yield from self._allowances.drop(found, text)
            elif name in _REGIONS:
                found = _REGIONS[name](text, end, regions)
                yield from self._allowances.drop(found, text)
            else:
                far = far or _find_far(text, unfold)
                if name not in far:
                    continue
                for span in far[name](text, end):
                    done[name] = span.end
                    if span.kind:
                        yield span
        manifests = [end for probe, end in hits if self._ids[probe] == "manifest"]
        yield from secret_objects.yaml_values(text, manifests)


def _find_far(text: bytes, unfold: Unfold) -> Mapping[str, Reader]:
    """Returns the readers that continue after a hit."""
    # These two remember what they have read of this text: a run of base64, or the rest after a key's first line, may
    # contain thousands of hits.
    runs = encodings.Runs(text)
    endings = keys.Endings(text)
    return {
        **_FAR,
        "base64": lambda _, end: [unfold(runs.at(end))],
        "percent": lambda text, end: [unfold(encodings.percent(text, end))],
        "pem": lambda text, end: keys.pem(text, end, endings),
    }
