"""Texts made from the rules to be slow for them, and what a piece of work costs the processor."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

from kubescript_masking.rules import patterns, shapes
from security_tests.redaction import probing

__all__ = ["bare", "cost", "excess", "is_in_proportion", "texts"]

SIZE: Final = 64 * 1024
TWICE_S: Final = 6.0
"""Processor seconds for twice that; what costs most needs 2.5 here, and many took from 10 s to days before."""
SMALL_S: Final = 0.3
"""What costs less is too little to compare."""
TINY_S: Final = 0.03
"""What costs less does not reach `TWICE_S` when it is twice as long."""
RATIO: Final = 3.0
PART: Final = 8
PART_S: Final = SMALL_S / PART**2
"""For that part of the size: what costs the square of its size, and less than this, costs less than `SMALL_S` in full."""
PART_RATIO: Final = 2.5
"""What grows so much with the part, and costs more than `PART_S`, is measured at its full size."""

_VARIANTS: Final = 16
"""Texts of one pattern that follow each other."""
_BETWEEN: Final = {"nothing": b"", "blanks": b" ", "lines": b"\n"}


class _TooLongError(Exception):
    """The cap was reached."""


def bare(example: str) -> str:
    """An example of a row without the signs that mark what is secret in it."""
    return example.replace("«", "").replace("»", "")


def texts() -> Iterator[tuple[str, bytes]]:
    """Pieces to be repeated, by the names of their rules: of each row its example, of each probe texts that it finds."""
    for row in patterns.ROWS.values():
        yield from _joined(f"row {row.id}", [bare(row.example).encode()])
    every = [*patterns.PROBES, *(rule.probe for rule in shapes.load_shipped())]
    for number, probe in enumerate(every):
        if probe.id != "base64" or number % 40 == 0:  # hundreds of these are words in base64
            chance = random.Random(probe.pattern)
            made = [probing.example(probe.pattern, chance) for _ in range(_VARIANTS)]
            yield from _joined(f"probe {probe.id} {number}", made)


def _joined(name: str, pieces: list[bytes]) -> Iterator[tuple[str, bytes]]:
    for what, between in _BETWEEN.items():
        yield f"{name}, {what} between", between.join([*pieces, b""]) or pieces[0]


def excess(measured: Callable[[int], Callable[[], object]]) -> tuple[float, float] | None:
    """What a text and one twice as long cost, where that is out of proportion: an eighth of the text is measured, and the
    whole where the part grows too much. All of them whole took 265 s of processor time, and so they take 170 s."""

    def spent(size: int) -> float:
        return cost(measured(size), cap=TWICE_S)

    if is_in_proportion(spent, SIZE):
        return None
    once = spent(SIZE)
    if once <= TINY_S:
        return None
    twice = spent(2 * SIZE)
    return (once, twice) if twice >= TWICE_S or twice > RATIO * once > RATIO * SMALL_S else None


def is_in_proportion(spent: Callable[[int], float], size: int) -> bool:
    """Whether a part of this size costs in proportion: a look that costs little. `spent` gives processor seconds."""
    once = spent(size // PART)
    return once <= PART_S or spent(2 * size // PART) < PART_RATIO * once


def cost(work: Callable[[], object], cap: float) -> float:
    """Processor seconds; the cap when it is reached."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    started = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, cap)
        work()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _TooLongError:
        return cap
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - started
