"""Coverage-guided fuzzing of what the host reads from a worker: `python -m security_tests.fuzz.wire`, `….door`.

Not part of the test suite: pytest collects nothing here, and atheris is installed by hand (README.md). This file holds
what both fuzzers need, and imports neither atheris nor anything of kubescript: that must be imported instrumented.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["arguments", "splice"]

CACHE = Path.home() / ".cache" / "kubescript-fuzz"
"""What is learnt and found stays here, outside the repository: one folder for each fuzzer."""


def arguments(argv: Sequence[str], name: str, seeds: Iterable[bytes]) -> list[str]:
    """libFuzzer's command line: our defaults, then the user's flags, which win, then files or folders.

    Without files or folders: the corpus of earlier runs, and the seeds, written anew.
    """
    place = CACHE / name
    for folder in ("corpus", "seeds", "findings"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    for old in (place / "seeds").iterdir():
        old.unlink()
    for seed in seeds:
        (place / "seeds" / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    flags = [f"-artifact_prefix={place}/findings/", "-timeout=10", "-max_len=8192"]
    given = any(not argument.startswith("-") for argument in argv[1:])
    return [argv[0], *flags, *argv[1:], *([] if given else [str(place / "corpus"), str(place / "seeds")])]


def splice(chance: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """`data` with a token put in at some place, over nothing or over a few bytes; or a piece of it many times."""
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((0, 0, 1, 4, 16)))
    if chance.random() < 0.1:
        return data[:end] + data[at:end] * chance.choice((2, 30, 300)) + data[end:]
    return data[:at] + chance.choice(tokens) + data[end:]
