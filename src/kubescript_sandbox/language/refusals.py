"""The texts of refusals: one sentence on what to write, for each unavailable construct, name and module.

transformer.py refuses with these at compile time; builtins.py and failures.py use them while a script runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kubescript_sandbox.language import advice

__all__ = ["MODULES", "NAMES", "Finding", "ScriptRefused", "about_module", "about_name", "about_syntax"]

_MAX_SHOWN: Final = 10
"""How many findings are shown to the model; of the others, only the number is reported."""
_MAX_LINE: Final = 160
"""How many characters of a script's line a finding shows."""


@dataclass(frozen=True)
class Finding:
    """One error in a script and its position. Lines count from 1, columns from 0."""

    line: int
    column: int
    message: str


class ScriptRefused(Exception):
    """The script was refused before it ran. `str()` is the text for the model."""

    def __init__(self, code: str, findings: tuple[Finding, ...], source: str = "") -> None:
        super().__init__(_format_findings(code, findings, source))
        self.code = code
        """`script.syntax` or `script.refused`."""
        self.findings = findings


def _format_findings(code: str, findings: tuple[Finding, ...], source: str) -> str:
    lines = source.splitlines()
    caret = code == "script.syntax"
    shown = [_format_finding(finding, lines, caret=caret) for finding in findings[:_MAX_SHOWN]]
    remaining = len(findings) - _MAX_SHOWN
    if remaining > 0:
        shown.append(f"… and {remaining} more")
    return "\n".join(shown)


def _format_finding(finding: Finding, lines: list[str], *, caret: bool) -> str:
    message = finding.message
    if finding.line:
        message = f"line {finding.line}: {message}"
    if not 1 <= finding.line <= len(lines):
        return message
    line = lines[finding.line - 1]
    text = line.strip()[:_MAX_LINE]
    if not caret:
        return f"{message}\n    {text}"
    indentation = len(line) - len(line.lstrip())
    column = finding.column - indentation
    spaces = " " * max(0, min(column, len(text)))
    return f"{message}\n    {text}\n    {spaces}^"


_SYNC = "scripts are synchronous: drop `await` and `async`"
_NEWER = "leave the type parameters out: annotations are not checked here"

_SYNTAX: Final[dict[str, str]] = {
    "AsyncFunctionDef": _SYNC,
    "Await": _SYNC,
    "AsyncFor": _SYNC,
    "AsyncWith": _SYNC,
    "TryStar": "`except*` is not available: use `except`",
    "TypeAlias": "`type X = …` is not available: write `X = …`",
    "TypeVar": _NEWER,
    "ParamSpec": _NEWER,
    "TypeVarTuple": _NEWER,
    "TemplateStr": "template strings are not available: use an f-string",
    "Interpolation": "template strings are not available: use an f-string",
}
"""Advice on refused syntax, by its node's class."""

_NO_CODE = "code cannot be made at run time: write it into the script"
_NO_FILES = "there are no files here: return the result"

NAMES: Final[dict[str, str]] = {
    "exec": _NO_CODE,
    "eval": f"{_NO_CODE}; for JSON use json.loads",
    "compile": f"{_NO_CODE}; for patterns use re.compile",
    "open": _NO_FILES,
    "input": "nobody can be asked while a script runs: put the value into the script",
    "globals": "names are simply there: keep your own in a dict",
    "locals": "names are simply there: keep your own in a dict",
    "breakpoint": "use print",
    "ExceptionGroup": "raise the first exception",
    "BaseExceptionGroup": "raise the first exception",
    "__import__": "use an import statement",
    "__builtins__": "call the builtin by its name",
}
"""Advice on unavailable builtins."""

_LOOP = "write a loop"
_PLAIN = "use lists, dicts, collections and statistics"
_NO_NET = "there is no network here"
_NO_PROCESS = "no process can be started"

MODULES: Final[dict[str, str]] = {
    "os": "there are no files, environment variables or processes here",
    "pathlib": _NO_FILES,
    "shutil": _NO_FILES,
    "tempfile": _NO_FILES,
    "glob": "there are no files here: use fnmatch for names",
    "fileinput": _NO_FILES,
    "subprocess": _NO_PROCESS,
    "multiprocessing": _LOOP,
    "threading": _LOOP,
    "concurrent": _LOOP,
    "queue": "use collections.deque",
    "asyncio": _SYNC,
    "requests": _NO_NET,
    "httpx": _NO_NET,
    "aiohttp": _NO_NET,
    "http": _NO_NET,
    "socket": _NO_NET,
    "ssl": _NO_NET,
    "urllib.request": "there is no network here; urllib.parse is there",
    "yaml": "use json",
    "ruamel": "use json",
    "toml": "use tomllib",
    "pandas": _PLAIN,
    "numpy": _PLAIN,
    "polars": _PLAIN,
    "matplotlib": "return the numbers: there are no pictures here",
    "sh": _NO_PROCESS,
    "dateutil": "use datetime.datetime.fromisoformat",
    "pytz": "use zoneinfo.ZoneInfo",
    "inspect": "use dir(x) and help(x)",
    "pickle": "use json",
    "shelve": _NO_FILES,
    "sqlite3": "use lists and dicts",
    "ctypes": "native code cannot be called",
    "importlib": "use an import statement",
    "builtins": "call the builtin by its name",
    "gc": "there is nothing to collect: a script is short",
    "ast": "use json.loads for data",
    "traceback": "use traceback.format_exc(), or str(error); an uncaught error is reported with its lines",
    "argparse": "a script has no arguments: write the values into it",
    "signal": "the time limit is the tool's argument",
    "os.system": _NO_PROCESS,
    "os.popen": _NO_PROCESS,
    "uuid": "use random.getrandbits",
    "secrets": "use random",
    "io.open": _NO_FILES,
    "codecs": "use str.encode and bytes.decode",
    "weakref": "hold the object itself",
    "jsonpath_ng": "walk the object in Python",
    "jmespath": "walk the object in Python",
    "platform": "this is the sandbox",
    "typing_extensions": "use typing",
    "attr": "use dataclasses",
    "attrs": "use dataclasses",
    "pydantic": "use dataclasses",
}
"""Advice on unavailable modules, and on all modules below them."""


def about_syntax(kind: str) -> str:
    """Returns what to write instead of refused syntax; `kind` is its node's class."""
    return advice.guest().syntax.get(kind) or _SYNTAX.get(kind, f"{kind} is not available in scripts")


def about_name(name: str) -> str:
    """Returns what to write instead of an unavailable builtin; empty for any other name."""
    return advice.guest().names.get(name) or NAMES.get(name, "")


def about_module(name: str) -> str:
    """Returns what to write instead of an unavailable module; empty without advice."""
    return advice.guest().modules.get(name) or MODULES.get(name, "")
