"""Writes output/sentences.json: every sentence that kubescript says inside a worker, with its places, and the names of
the official client. The host compares the text of an error with them (output/fencing.py).

    python scripts/generate_sentences.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from kubescript.guest.sdk.objects import helpers
from kubescript.kube import kinds

SOURCE: Final = Path(__file__).resolve().parent.parent / "src"
PACKAGE: Final = SOURCE / "kubescript"
GUEST: Final = PACKAGE / "guest"
SANDBOX: Final = SOURCE / "kubescript_sandbox"
SPEAKING: Final = (
    GUEST / "advice.py",
    GUEST / "entry.py",
    *(GUEST / "sdk").rglob("*.py"),
    *(SANDBOX / "guest").rglob("*.py"),
    *(SANDBOX / "language").rglob("*.py"),
    *(SANDBOX / "library").rglob("*.py"),
    *(PACKAGE / "request").rglob("*.py"),
    *(PACKAGE / "broker").rglob("*.py"),
)
"""Whose texts are in errors of scripts."""
SENTENCES: Final = PACKAGE / "output" / "sentences.json"
_TWO_WORDS: Final = re.compile(r"[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]{2,}")
_CODE: Final = re.compile(r'"((?:cancelled|internal|(?:cluster|limit|plan|policy|redaction|request|writes)\.[a-z_]+))"')
_PLACES: Final = re.compile("\0+")
_VERSION: Final = re.compile(r"\A(?:Core|Events|Storage|Discovery)?V\d+(?:(?:alpha|beta)\d+)?")
PYTHON: Final = (
    *(f"{kind} index out of range" for kind in ("list", "tuple", "string", "list assignment", "range object")),
    *(f"pop from an empty {kind}" for kind in ("set", "deque")),
    *(f"{kind} by zero" for kind in ("division", "float division", "integer division or modulo", "integer modulo")),
    *(f"{name}() iterable argument is empty" for name in ("max", "min")),
    *(f"{name}() arg is an empty sequence" for name in ("max", "min")),
    "pop from empty list",
    "substring not found",
    "list.remove(x): x not in list",
    "dictionary changed size during iteration",
    "not enough values to unpack (expected \0, got \0)",
    "too many values to unpack (expected \0)",
    "too many values to unpack (expected \0, got \0)",
    "name '\0' is not defined",
    "'\0' object has no attribute '\0'",
    "'\0' object is not iterable",
    "'\0' object is not callable",
    "'\0' object is not subscriptable",
    "'\0' object does not support item assignment",
    "unsupported operand type(s) for \0: '\0' and '\0'",
    "unsupported format string passed to \0.__format__",
    'can only concatenate str (not "\0") to str',
    "'\0' not supported between instances of '\0' and '\0'",
    "unhashable type: '\0'",
)
"""What the interpreter says most often. Its places are compared as those of our sentences are."""


def _sentences(tree: ast.Module) -> Iterator[str]:
    """Yields the texts in a module but for its documentation, with NUL for each place."""
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        # Its parts are in the text of the whole.
        elif isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values))
    for node in ast.walk(tree):
        if id(node) not in left_out:
            yield _text(node)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "\0" for part in node.values)
    return ""


def _codes() -> Iterator[str]:
    """Yields the codes of errors, which stand before the message of some."""
    files = (*PACKAGE.rglob("*.py"), *SANDBOX.rglob("*.py"))
    for file in files:
        text = file.read_text()
        yield from _CODE.findall(text)


def _globals() -> Iterator[str]:
    """Yields the names that a script has without writing them."""
    for name in vars(builtins):
        if not name.startswith("_"):
            yield name
    yield from (*helpers.GLOBALS, "k8s", "help", "Counter", "defaultdict", "ctx", "namespace")


def _classes() -> Iterator[str]:
    """Yields the names of the classes that an error may name."""
    for folder in (GUEST, SANDBOX / "guest", SANDBOX / "language", SANDBOX / "library"):
        for file in folder.rglob("*.py"):
            tree = ast.parse(file.read_text())
            yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    yield from (name for name, value in vars(builtins).items() if isinstance(value, type))
    yield from ("NoneType", "function", "method", "generator", "module", "builtin_function_or_method")


def _client() -> Iterator[str]:
    """Yields the names of the official client's methods, parameters, models, kinds and fields."""
    values = GUEST / "sdk" / "values"
    operations = msgspec.json.decode((values / "operations.json").read_bytes())
    models = msgspec.json.decode((values / "schemas.json").read_bytes())["models"]
    yield from ("core", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    for api, methods in operations["apis"].items():
        yield from (api, *methods)
        for _, path, *_ in methods.values():
            # `{namespace}` stands for a value.
            yield from (part for part in path.split("/") if part and "{" not in part)
    for model, fields in models.items():
        kind = _VERSION.sub("", model)
        yield from (model, kind, kinds.pluralize(kind))
        for field in fields:
            first, *others = field.split("_")
            camel = first + "".join(map(str.title, others))
            yield from (field, camel)


def generate() -> bytes:
    """Returns the file as bytes, the same for the same source."""
    found: set[str] = set()
    for file in SPEAKING:
        tree = ast.parse(file.read_text())
        found.update(_sentences(tree))
    # Sentences meet in "; ", where the host takes them apart again.
    whole = {_PLACES.sub("\0", text).strip("; ") for text in found}
    said = sorted(text for text in whole if _TWO_WORDS.search(text))
    classes = set(_classes())
    # Sorted: the order of a set is another one at every start.
    table = {
        "names": sorted({*classes, *_client()}),
        "types": sorted(classes),
        "words": sorted({*_codes(), *_globals()}),
        "python": [text.split("\0") for text in PYTHON],
        "sentences": [text.split("\0") for text in said],
    }
    dense = msgspec.json.encode(table)
    text = msgspec.json.format(dense, indent=0)
    return text + b"\n"


def main() -> int:
    """Writes the file; with --check says whether it is as it would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is not current")
    if parser.parse_args().check:
        return int(SENTENCES.read_bytes() != generate())
    SENTENCES.write_bytes(generate())
    return 0


if __name__ == "__main__":
    sys.exit(main())
