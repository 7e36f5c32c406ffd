"""A masker that a text has taken over: it obeys what it reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from kubescript import errors, redaction
from kubescript_sandbox.host import cancellation

__all__ = ["GRACE_S", "HOSTILE", "obeyed", "works"]


HOSTILE: Final = (sys.executable, "-I", str(Path(__file__).with_name("hostile_masker.py")))


GRACE_S: Final = 20.0
"""Seconds that a machine with other work to do may need for what takes milliseconds."""


def obeyed(engine: redaction.Engine, text: str) -> str:
    """What a masker that has been taken over answers to `text`; the error where the host refuses the answer."""
    try:
        return engine.text(text, lambda _: None, cancellation.Patience(GRACE_S))
    except errors.RedactionError as error:
        return error.code


def works(engine: redaction.Engine) -> bool:
    """Whether the next text is served."""
    return obeyed(engine, "result = 6 * 7") == "42"
