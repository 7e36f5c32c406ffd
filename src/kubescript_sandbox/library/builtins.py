"""Builds the globals of one script: builtins, guards, the importer, and the worker's variables (`k8s`, `ctx`, …).

guest/main.py calls `build_globals`; the compiled script finds here the guards that the transformer inserted.
"""

from __future__ import annotations

import builtins
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from kubescript_sandbox.language import advice, classes, formatting, guards, reflection, refusals
from kubescript_sandbox.library import memory_views, os_stub, stdlib

__all__ = ["build_globals"]

_PLAIN: Final = (
    "None True False Ellipsis NotImplemented abs all any ascii bin bool bytearray bytes callable chr classmethod "
    "complex dict divmod enumerate filter float frozenset hash hex id int isinstance issubclass iter len list map max "
    "min next object oct ord pow property range repr reversed round set slice sorted staticmethod str sum super tuple "
    "zip __build_class__"
)
"""Builtins that are handed out unchanged."""

_BUILTINS: Final[dict[str, Any]] = {
    **{name: getattr(builtins, name) for name in _PLAIN.split()},
    **classes.EXCEPTIONS,
    "memoryview": memory_views.MemoryView,
    "type": reflection.Type,
    "getattr": reflection.get,
    "hasattr": reflection.has,
    "setattr": reflection.store,
    "delattr": reflection.delete,
    "vars": reflection.vars_,
    "dir": reflection.listing,
    "format": formatting.field,
    "_format_": formatting.field,
    "exit": lambda code=None, /: _exit(code),
    "quit": lambda code=None, /: _exit(code),
    "_getattr_": guards.read,
    "_asked_": guards.count_masks,
    "_tested_": guards.forget_mask,
    "_private_": guards.private,
    "_special_": guards.special,
    "_protocol_": guards.protocol,
    "_write_": guards.writable,
    "_augmented_": guards.augment,
    "_box_": guards.box,
    "_none_": guards.none,
    "_own_": guards.own,
    "_type_": reflection.Type,
    "__metaclass__": classes.Factory(),
}

reflection.name_types(_BUILTINS.values())
reflection.name_types(value for module in stdlib.MODULES.values() for value in vars(module).values())


def build_globals(
    *, print_: Callable[..., None], extra: Mapping[str, object], importable: Mapping[str, object]
) -> dict[str, object]:
    """Returns new globals for one script. `importable` adds modules, which override those of the standard library;
    `extra` adds variables.

    Modules are available without an import too: models forget the line, and a failure would cost a round trip.
    """
    modules = {**stdlib.MODULES, **_output_modules(print_), **os_stub.modules(print_), **importable}
    of_script = {
        "print": _printer(print_),
        "__import__": _importer(modules),
        "_import_line_": lambda name: _import_line(name, importable),
    }
    preloaded = {name: module for name, module in modules.items() if "." not in name} | _preload_names(modules)
    available = {**preloaded, **_BUILTINS, **of_script}
    return {"__builtins__": available, "__name__": classes.MODULE, **extra}


_PRELOADED: Final = {
    "timedelta": "datetime",
    "timezone": "datetime",
    **dict.fromkeys(("dataclass", "asdict"), "dataclasses"),
    **dict.fromkeys(("deque", "namedtuple", "OrderedDict"), "collections"),
    **dict.fromkeys(("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "TypedDict"), "typing"),
    **dict.fromkeys(("lru_cache", "partial", "reduce"), "functools"),
    "Enum": "enum",
    "Decimal": "decimal",
    "ZoneInfo": "zoneinfo",
    "groupby": "itertools",
    "suppress": "contextlib",
    **dict.fromkeys(("ThreadPoolExecutor", "as_completed"), "concurrent.futures"),
}
"""Name that is available without an import ▶ its module."""


def _preload_names(modules: Mapping[str, object]) -> dict[str, object]:
    """Returns the names that are available without an import."""
    homes = {**_PRELOADED, **advice.guest().homes}
    found = {}
    for name, home in homes.items():
        if reflection.has(modules.get(home), name):
            found[name] = guards.read(modules[home], name)
    return found


def _import_line(name: str, importable: Mapping[str, object]) -> str:
    """Returns the line that imports a name; empty when there is none."""
    if line := stdlib.IMPORT_LINES.get(name):
        return line
    for module in advice.guest().packages:
        if module in importable and reflection.has(importable[module], name):
            return f"from {module} import {name}"
    return ""


# --- print, and the modules that print --------------------------------------------------------------------------------


def _printer(print_: Callable[..., None]) -> Callable[..., None]:
    def print(  # noqa: A001  the name that error messages show
        *values: object, sep: str | None = " ", end: str | None = "\n", file: object = None, flush: bool = False
    ) -> None:
        """Prints to the script's output, or to `file`: sys.stdout, sys.stderr or a StringIO."""
        if not {type(sep), type(end)} <= {str, type(None)}:
            raise TypeError("sep and end must be None or a string")
        sep = " " if sep is None else sep
        end = "\n" if end is None else end
        write = None if isinstance(file, _Stream) else reflection.get(file, "write", None)
        if write is None:
            print_(*values, sep=sep, end=end)
        else:
            write(sep.join(map(str, values)) + end)

    return print


class _Stream:
    """A script's sys.stdout and sys.stderr: both are its printed output."""

    __slots__ = ("__write",)

    def __init__(self, print_: Callable[..., None]) -> None:
        self.__write = print_

    def write(self, text: str) -> int:
        """Prints without a newline."""
        self.__write(text, sep="", end="")
        return len(text)

    def flush(self) -> None:
        """Does nothing: the channel decides when to send."""


def _exit(code: object = None, /) -> NoReturn:
    """Ends the script; a string becomes its value."""
    raise SystemExit(code)


def _ignore(*args: object, **kwargs: object) -> None:
    """Accepts any arguments and does nothing."""


def _output_modules(print_: Callable[..., None]) -> dict[str, stdlib.ModuleProxy]:
    """Returns the modules that print or end the script, bound to this script's output."""
    stream = _Stream(print_)
    pformat: Any = stdlib.MODULES["pprint"].__dict__["pformat"]

    def pprint(value: object, stream: None = None, **options: Any) -> None:
        """Replaces pprint.pprint: prints to the script's output."""
        print_(pformat(value, **options), sep=" ", end="\n")

    system = {"stdout": stream, "stderr": stream, "exit": _exit, "maxsize": sys.maxsize, "argv": ("script",)}
    system |= {"version": sys.version, "version_info": tuple(sys.version_info), "byteorder": sys.byteorder}
    quiet = dict.fromkeys(("warn", "filterwarnings", "simplefilter"), _ignore)
    return {
        "sys": stdlib.ModuleProxy("sys", system),
        "pprint": stdlib.ModuleProxy("pprint", {"pformat": pformat, "pprint": pprint, "pp": pprint}),
        "warnings": stdlib.ModuleProxy("warnings", quiet),
        "logging": stdlib.ModuleProxy("logging", _logging(print_)),
    }


class _Logger:
    """A logger that prints `LEVEL message`, at INFO and above."""

    __slots__ = ("__print",)

    def __init__(self, print_: Callable[..., None]) -> None:
        self.__print = print_

    def _log(self, level: str, message: object, args: tuple[object, ...]) -> None:
        text = str(message) % args if args else f"{message}"
        line = f"{level} {text}"
        self.__print(line, sep=" ", end="\n")

    def info(self, message: object, *args: object, **options: object) -> None:
        """Prints at INFO."""
        self._log("INFO", message, args)

    def warning(self, message: object, *args: object, **options: object) -> None:
        """Prints at WARNING."""
        self._log("WARNING", message, args)

    def error(self, message: object, *args: object, **options: object) -> None:
        """Prints at ERROR."""
        self._log("ERROR", message, args)

    exception = critical = error

    def debug(self, message: object, *args: object, **options: object) -> None:
        """Does nothing: the level is INFO."""

    def setLevel(self, level: object) -> None:
        """Does nothing: the level stays INFO."""


def _logging(print_: Callable[..., None]) -> dict[str, object]:
    logger = _Logger(print_)

    def getLogger(name: object = None) -> _Logger:
        """Returns the one logger, for any name."""
        return logger

    levels = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
    methods = {name: getattr(logger, name) for name in ("debug", "info", "warning", "error", "exception", "critical")}
    return {"getLogger": getLogger, "basicConfig": _ignore, **levels, **methods}


# --- import -----------------------------------------------------------------------------------------------------------


def _importer(modules: Mapping[str, object]) -> Callable[..., object]:
    """Returns an `__import__` that looks names up in a table of proxies only. It resolves the names of a `from` import
    itself, because Python would fall back to sys.modules."""
    strptime_module = stdlib.ModuleProxy("_strptime", {})

    def importer(
        name: str, _globals: object = None, _locals: object = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> object:
        if level:
            raise ImportError("relative imports are not available: a script is one file")
        if name == "_strptime":
            return strptime_module  # datetime.strptime imports it by this function, then uses the one in sys.modules
        top = _module(modules, name.partition(".")[0])
        leaf = modules.get(name) or _submodule(top, name)
        if not fromlist:
            return top
        return stdlib.ModuleProxy(name, {item: _member(leaf, name, item) for item in fromlist})

    def _module(modules: Mapping[str, object], name: str) -> object:
        if name not in modules:
            raise ModuleNotFoundError(_absent(name, modules), name=name)
        return modules[name]

    return importer


def _submodule(module: object, name: str) -> object:
    """Returns the module of a dotted name. Every part of the name must be a module."""
    # Attack: a script writes `import typing.Text.format as f`; Python itself then reads each part, without a guard.
    path = name.split(".")
    for end, leaf in enumerate(path[1:], 2):
        module = _member(module, name, leaf)
        if stdlib.Module not in type(module).__mro__:
            raise ModuleNotFoundError(f"{'.'.join(path[:end])!r} is not a module", name=name)
    return module


def _member(module: object, name: str, item: str) -> object:
    """Returns a module's member. Raises ImportError, which says what to import instead."""
    try:
        return guards.dynamic(module, item)
    except AttributeError as error:
        advised = refusals.about_module(f"{name}.{item}") or refusals.about_module(name)
        why = advised or str(error)
        raise ImportError(f"cannot import {item!r} from {name!r}: {why}", name=name) from None


def _absent(name: str, modules: Mapping[str, object]) -> str:
    """Returns the message for a module that does not exist."""
    head = f"there is no module {name!r} here"
    instead = refusals.about_module(name)
    if instead:
        return f"{head}: {instead}"
    near = difflib.get_close_matches(name, modules, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"{head}{meant}; most of the standard library is: json, re, datetime, collections, itertools, statistics, …"
