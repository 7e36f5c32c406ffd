"""Masking runs without any of the other houses but the sandbox."""

from __future__ import annotations

import subprocess
import sys

from tests.kit import paths

ALONE = """
import sys
from kubescript_masking import __main__
code = __main__.main()
print("houses", sorted({name.partition(".")[0] for name in sys.modules if name.startswith("kubescript")}), file=sys.stderr)
sys.exit(code)
"""
LOG = "level=info url=postgres://app:Tr0ub4dor@db/app\npassword: hunter22\nplain\n"


def mask(text: str) -> subprocess.CompletedProcess[str]:
    """The text, masked by `python -m kubescript_masking`."""
    return subprocess.run(
        [sys.executable, "-c", ALONE], input=text, capture_output=True, text=True, check=False, timeout=240
    )


def test_standard_input_is_masked() -> None:
    """What is no secret stays, each kind is counted, and no cluster is known."""
    done = mask(LOG)
    assert done.returncode == 0, done.stderr
    assert "Tr0ub4dor" not in done.stdout and "hunter22" not in done.stdout
    assert done.stdout.startswith("level=info url=postgres://app:«") and done.stdout.endswith("\nplain\n")
    assert "1 password, 1 url-password" in done.stderr
    assert "houses ['kubescript_masking', 'kubescript_sandbox']" in done.stderr


def test_nothing_is_masked_in_nothing() -> None:
    """An empty input has an empty output."""
    done = mask("")
    assert (done.returncode, done.stdout) == (0, "") and "masked: nothing" in done.stderr


def test_the_example_runs() -> None:
    """As its first line says."""
    example = str(paths.ROOT / "examples/houses/masking.py")
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True)
    assert "found: url-password" in done.stdout and "Tr0ub4dor" not in done.stdout
