"""What a runbook says about itself is complete and without contradiction, or it is not locked and not run."""

from __future__ import annotations

from typing import Final

import pytest

from kubescript import errors
from kubescript.runbooks import header, lock_file

DESCRIBED: Final = 'description = "Restarts it"\n'


def block(text: str) -> str:
    """A header with this text."""
    lines = ["#" if not line else f"# {line}" for line in text.splitlines()]
    return "\n".join(["# /// runbook", *lines, "# ///", "1"])


def argument(text: str) -> str:
    """A header with one argument."""
    return block(f"{DESCRIBED}[arguments.x]\n{text}")


FAULTS: Final = {
    "no header": ("1", "exactly one block"),
    "two headers": (block(DESCRIBED) + "\n" + block(DESCRIBED), "exactly one block"),
    "one in a comment": ("# x\u2028# /// runbook\u2028# description = 'x'\u2028# ///\n1", "exactly one block"),
    "no end": ("# /// runbook\n# description = 'x'\n1", "the last one must be"),
    "no TOML": (block("description"), "is not TOML"),
    "no description": (block(""), "description"),
    "an empty description": (block('description = " "'), "description"),
    "an unknown field": (block(f"{DESCRIBED}runs = 1"), "runs"),
    "an unknown type": (argument('type = "float"'), "float"),
    "a keyword": (block(f'{DESCRIBED}[arguments.for]\ntype = "string"'), "cannot be the name"),
    "a builtin": (block(f'{DESCRIBED}[arguments.len]\ntype = "string"'), "cannot be the name"),
    "the cluster": (block(f'{DESCRIBED}[arguments.k8s]\ntype = "string"'), "cannot be the name"),
    "a guard of the sandbox": (block(f'{DESCRIBED}[arguments._getattr_]\ntype = "string"'), "cannot be the name"),
    "a condition of another type": (argument('type = "integer"\npattern = "a"'), "has no `pattern`"),
    "a pattern that RE2 lacks": (argument('type = "string"\npattern = "(?=a)"'), "RE2"),
    "a default out of bounds": (argument('type = "integer"\nmaximum = 3\ndefault = 4'), "`default`"),
    "a default of another type": (argument('type = "boolean"\ndefault = 1'), "`default`"),
    "a choice of another type": (argument('type = "string"\nenum = [1]'), "`enum`"),
    "many": (block(DESCRIBED + "".join(f'[arguments.x{n}]\ntype = "string"\n' for n in range(40))), "more than 32"),
    "large": (block(DESCRIBED + "#" * 20_000), "more than 16384"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_faulty_header_says_what_is_wrong(what: str) -> None:
    """Its error names the part; a header without that fault is read."""
    source, words = FAULTS[what]
    with pytest.raises(errors.RunbookError) as refused:
        header.parse(source)
    assert refused.value.code == "runbook.header" and words in refused.value.message
    assert header.parse(argument('type = "string"')).arguments["x"] == header.Argument("string")


def test_a_value_meets_all_conditions() -> None:
    """A pattern holds for the whole string; the length is bounded where the header does not say; 1 is not true."""
    names = header.Argument("string", pattern="[a-z]+", enum=("web", "api"))
    assert not names.find_fault("web")
    for value in ("webs", "web1", "Web", "", 1, None):
        assert names.find_fault(value)
    assert header.Argument("string").find_fault("a" * 254) and not header.Argument("string").find_fault("a" * 253)
    numbers = header.Argument("integer", minimum=-2)
    assert not numbers.find_fault(-2) and numbers.find_fault(-3) and numbers.find_fault(True)
    assert header.Argument("boolean").find_fault(1) and not header.Argument("boolean").find_fault(False)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"version = 2\n[runbooks]\n", b"version = 1\n[runbooks]\nx = 'ab'\n"]
)
def test_a_faulty_lock_file_locks_nothing(content: bytes) -> None:
    """Nothing is taken from a lock file of which a part cannot be read; what is written can be."""
    with pytest.raises(errors.RunbookError):
        lock_file.parse(content)
    digests = {"web": "ab" * 32}
    assert lock_file.parse(lock_file.write(digests)) == digests
