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

from kubescript.kube import kinds
from kubescript.worker.sdk import helpers

SOURCE: Final = Path(__file__).resolve().parent.parent / "src"
PACKAGE: Final = SOURCE / "kubescript"
WORKER: Final = PACKAGE / "worker"
SANDBOX: Final = SOURCE / "kubescript_sandbox"
SPEAKING: Final = (
    WORKER / "advice.py",
    WORKER / "entry.py",
    *(WORKER / "sdk").rglob("*.py"),
    *(SANDBOX / "guest").rglob("*.py"),
    *(SANDBOX / "language").rglob("*.py"),
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
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in documentation or id(node) in parts:
            continue
        text = _text(node)
        yield text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "\0" for part in node.values)
    return ""


def _codes() -> Iterator[str]:
    """Yields the codes of errors, which stand before the message of some."""
    for file in (*PACKAGE.rglob("*.py"), *SANDBOX.rglob("*.py")):
        yield from _CODE.findall(file.read_text())


def _globals() -> Iterator[str]:
    """Yields the names that a script has without writing them."""
    yield from (name for name in vars(builtins) if not name.startswith("_"))
    yield from (*helpers.GLOBALS, "k8s", "help", "Counter", "defaultdict", "ctx", "namespace")


def _classes() -> Iterator[str]:
    for file in (*WORKER.rglob("*.py"), *(SANDBOX / "guest").rglob("*.py"), *(SANDBOX / "language").rglob("*.py")):
        yield from (node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef))
    yield from (name for name, value in vars(builtins).items() if isinstance(value, type))
    yield from ("NoneType", "function", "method", "generator", "module", "builtin_function_or_method")


def _client() -> Iterator[str]:
    """Yields the names of the official client's methods, parameters, models, kinds and fields."""
    operations = msgspec.json.decode((WORKER / "sdk" / "operations.json").read_bytes())
    models = msgspec.json.decode((WORKER / "sdk" / "schemas.json").read_bytes())["models"]
    yield from ("core", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    for api, methods in operations["apis"].items():
        yield from (api, *methods)
        for _, path, *_ in methods.values():
            yield from (part for part in path.split("/") if part and "{" not in part)
    for model, fields in models.items():
        kind = _VERSION.sub("", model)
        yield from (model, kind, kinds.pluralize(kind))
        for field in fields:
            first, *others = field.split("_")
            yield from (field, first + "".join(map(str.title, others)))


def generate() -> bytes:
    """Returns the file as bytes, the same for the same source."""
    found: set[str] = set()
    for file in SPEAKING:
        found.update(_sentences(ast.parse(file.read_text())))
    # Sentences meet in "; ", where the host takes them apart again.
    whole = {_PLACES.sub("\0", text).strip("; ") for text in found}
    said = sorted(text for text in whole if _TWO_WORDS.search(text))
    table = {
        "names": sorted({*_classes(), *_client()}),
        "types": sorted(set(_classes())),
        "words": sorted({*_codes(), *_globals()}),
        "python": [text.split("\0") for text in PYTHON],
        "sentences": [text.split("\0") for text in said],
    }
    return msgspec.json.format(msgspec.json.encode(table), indent=0) + b"\n"


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
