"""Compiles script text to a runnable program, or to findings that say what to write instead. Called by the worker.

    compile_script   source ▶ tree ▶ transformer (names, guards) ▶ code
    run              code + globals (builtins.py) ▶ value of the last expression, or NOTHING
    describe_failure exception ▶ its type, message and hint, and the script's own lines

The script becomes the body of one function whose names are all declared global. So `return` works at the top level,
functions see the script's variables as usual, and top-level loops run at the speed of a function's.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import enum
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, Literal

from kubescript_sandbox.language import failures, results, transformer
from kubescript_sandbox.language.refusals import Finding, ScriptRefused

__all__ = ["NOTHING", "Finding", "Program", "ScriptRefused", "compile_script", "describe_failure", "run"]

# Data does not belong in a script.
MAX_SOURCE: Final = 256 * 1024
"""The maximum size of a script in bytes of UTF-8."""

_COMPILE_DEPTH: Final = 3000
"""The recursion limit while compiling: a sum of 600 terms compiles, and the C stack does not overflow."""

_MAIN: Final = "_main_"
_NOTHING: Final = "_nothing_"
_FUTURE_FEATURES: Final = frozenset(__future__.all_feature_names)
_FENCE: Final = re.compile(r"\A\s*(?P<mark>```|~~~)[\w+-]*[ \t]*\n(?P<body>.*?)(?:\n[ \t]*(?P=mark))?\s*\Z", re.DOTALL)
_FENCED: Final = re.compile(r"^```(?:python|py)?[ \t]*\n(?P<body>.*?)\n```", re.DOTALL | re.MULTILINE)
_TOO_NESTED: Final = (
    "the script is too deeply nested: split the expression, or put the data into a JSON string for json.loads"
)


class _Nothing(enum.Enum):
    NOTHING = "nothing"


NOTHING: Final = _Nothing.NOTHING
"""The script ended without a value."""


@dataclass(frozen=True)
class Program:
    """A compiled script, which may be run any number of times."""

    code: CodeType
    source: str
    """The compiled text: without the Markdown fence, but with unchanged line numbers."""
    returns: bool
    """Whether the script can have a value: a last expression, or `return` at the top level."""
    hint: str
    """How to return a value, in case there is none. Empty when the script ends with `print(…)`."""
    none_hint: str
    """Why the value is None, in case it is."""


def compile_script(source: str) -> Program:
    """Compiles a script under the rules of the language. Raises ScriptRefused with every finding."""
    source = _normalize(source)
    try:
        with warnings.catch_warnings(), _enough_recursion():
            warnings.simplefilter("ignore")  # a warning about the script's text would go to this process's stderr
            return _compile(source)
    except SyntaxError as error:
        raise _syntax(error, source) from None
    except (RecursionError, MemoryError):
        raise _refuse(_TOO_NESTED) from None
    except (ValueError, UnicodeError) as error:
        raise _refuse(f"the script cannot be read: {error}") from None


def run(program: Program, globals_: dict[str, Any]) -> object | Literal[_Nothing.NOTHING]:
    """Runs the program in `globals_` and returns its value. SystemExit ends the script; its text, if any, is the
    value."""
    globals_["__builtins__"][_NOTHING] = NOTHING
    try:
        exec(program.code, globals_)
        return globals_.pop(_MAIN)()  # type: ignore[no-any-return]
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return NOTHING
        return end.code


def describe_failure(error: BaseException) -> failures.Failure:
    """Returns the exception with its message, a hint and the script's lines that led to it."""
    return failures.describe(error)


@contextlib.contextmanager
def _enough_recursion() -> Iterator[None]:
    """Raises the recursion limit for the compiler."""
    # The script's limit may be low, and walking a tree takes four frames for each level of nesting.
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _COMPILE_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


# --- source -----------------------------------------------------------------------------------------------------------


def _normalize(source: str) -> str:
    if len(source) > MAX_SOURCE or len(source.encode(errors="surrogatepass")) > MAX_SOURCE:
        raise _refuse(f"the script is larger than {MAX_SOURCE // 1024} KiB: keep data out of it")
    source = source.removeprefix("\ufeff")
    source = source.replace("\r\n", "\n")
    fenced = _FENCE.match(source) or _code_block_in_prose(source)
    if fenced:
        lines_before = source[: fenced.start("body")].count("\n")
        source = "\n" * lines_before + fenced["body"]
    if _first_statement(source).startswith((" ", "\t")):
        return textwrap.dedent(source)
    return source


def _first_statement(source: str) -> str:
    """Returns the first line that is neither empty nor a comment."""
    for line in source.splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            return line
    return ""


def _code_block_in_prose(source: str) -> re.Match[str] | None:
    """Returns the only Markdown code block of an answer in prose; None when there is not exactly one."""
    # Outside a long string, backticks are never Python.
    blocks = list(_FENCED.finditer(source))
    if len(blocks) != 1:
        return None
    block = blocks[0]
    before = source[: block.start()]
    in_string = before.count('"' * 3) % 2 or before.count("'" * 3) % 2
    if in_string or _is_python(source):
        return None
    return block


def _is_python(source: str) -> bool:
    """Says whether the whole text is Python: a script that quotes a code block must not be replaced by its
    quotation."""
    try:
        ast.parse(source, failures.FILENAME)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# --- tree and code ----------------------------------------------------------------------------------------------------


def _compile(source: str) -> Program:
    tree = ast.parse(source, failures.FILENAME)
    flags = _future_flags(tree)
    hint = results.hint(tree.body)
    none_hint = results.none_hint(tree.body)
    rules = transformer.Transformer()
    rules.visit_script(tree)
    rules.finish()
    if rules.findings:
        once = dict.fromkeys(rules.findings)  # a set would order those of one place by the process's hash seed
        findings = sorted(once, key=lambda finding: (finding.line, finding.column))
        raise ScriptRefused("script.refused", tuple(findings), source)
    returns = results.return_last(tree.body) or rules.returns_early
    module = _wrap(tree, rules.bound)
    code = compile(module, failures.FILENAME, "exec", flags=flags, dont_inherit=True, optimize=0)
    _check_plain(code)
    return Program(code, source, returns, hint, none_hint)


def _future_flags(tree: ast.Module) -> int:
    """Removes `from __future__ import …` from the tree and returns its compiler flags. Only `annotations` still has an
    effect."""
    flags = 0
    for node in list(tree.body):
        if not isinstance(node, ast.ImportFrom) or node.module != "__future__" or node.level:
            continue
        features = {alias.name for alias in node.names}
        if not features <= _FUTURE_FEATURES:
            continue  # Python's own error names the feature
        tree.body.remove(node)
        if "annotations" in features:
            flags |= __future__.annotations.compiler_flag
    return flags


def _wrap(tree: ast.Module, bound: set[str]) -> ast.Module:
    main = ast.parse(f"def {_MAIN}(): pass").body[0]
    assert isinstance(main, ast.FunctionDef)
    body: list[ast.stmt] = []
    if bound:
        body.append(ast.Global(sorted(bound)))
    body += tree.body
    nothing = ast.Name(_NOTHING, ast.Load())
    body.append(ast.Return(nothing))
    main.body = body
    module = ast.Module([main], [])
    return ast.fix_missing_locations(module)


def _check_plain(code: CodeType) -> None:
    """Refuses a script whose function became a generator."""
    # Attack: a script hides a `yield` in a default value or a decorator, so that it would never run.
    main = next(const for const in code.co_consts if isinstance(const, CodeType))
    if main.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise _refuse("`yield` outside a function: append to a list, and end the script with its name")


# --- refusals ---------------------------------------------------------------------------------------------------------


def _refuse(message: str) -> ScriptRefused:
    """Returns the refusal of a whole script."""
    finding = Finding(0, 0, message)
    return ScriptRefused("script.refused", (finding,))


def _syntax(error: SyntaxError, source: str) -> ScriptRefused:
    """Returns the refusal of source text that is not Python."""
    advice = failures.syntax_advice(error, source)
    line = error.lineno or 0
    offset = error.offset or 1
    column = max(offset - 1, 0)
    finding = Finding(line, column, f"{error.msg}{advice}")
    return ScriptRefused("script.syntax", (finding,), source)
