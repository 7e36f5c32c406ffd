"""What a script must never hold, and the walk over everything that one value leads to. Used by the language tests."""

from __future__ import annotations

import builtins
import io
import types
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from kubescript.guest.advice import ADVICE
from kubescript.guest.sdk.compat import kubeconfig
from kubescript.guest.sdk.objects import helpers
from kubescript_sandbox.language import advice, compiler, identifiers, reflection
from kubescript_sandbox.library import builtins as script_builtins
from kubescript_sandbox.library import stdlib

__all__ = ["SECRET", "Handle", "leak", "reachable", "silent", "walk"]

advice.use(ADVICE)
SECRET: Final = "hunter2"


def silent(*_values: object, **_options: object) -> None:
    """The print callback."""


class Handle:
    """A host object as the worker might hand one in: public methods, private insides."""

    def __init__(self) -> None:
        self._secret = {"token": SECRET}

    def ask(self) -> str:
        """A public method."""
        return "answer"

    def fail(self) -> object:
        """Raises with an internal object attached."""
        return self._secret.nothing  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"no {name}")


# --- the verdict on one value -----------------------------------------------------------------------------------------

INSIDES: Final = (types.ModuleType, types.FrameType, types.CodeType, types.CellType, io.FileIO, io.BufferedReader)
INSIDES_TOO: Final = (types.TracebackType, io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper, kubeconfig.Choice)
MAKERS: Final = (types.FunctionType, types.CodeType, types.ModuleType)
_RAW: Final = (
    "breakpoint compile delattr dir eval exec getattr globals hasattr input locals open print setattr type "
    "vars memoryview __import__"
)
RAW: Final = [getattr(builtins, name) for name in _RAW.split()]
"""Builtins that scripts have our own in place of, or none."""
DESCRIPTORS: Final = (
    *(types.BuiltinMethodType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType),
    *(types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType),
)
_MEDDLING: Final = (
    "class dict getattribute setattr delattr reduce reduce_ex subclasses globals code closure self func wrapped "
    "traceback get set delete new dir sizeof subclasshook init_subclass base bases mro"
)
MEDDLING: Final = identifiers.INTROSPECTION | {f"__{name}__" for name in _MEDDLING.split()}
"""Names of descriptors that read or write past the guards."""


_HOMES: Final = (
    "builtins script types typing collections collections.abc _collections _collections_abc abc enum functools re "
    "datetime decimal _decimal fractions statistics random string itertools operator _operator contextlib csv _csv _io "
    "hashlib _hashlib hmac ipaddress urllib.parse difflib time dataclasses calendar numbers copy binascii json.decoder "
    "tomllib tomllib._parser zlib zoneinfo._common _thread _blake2 _sha1 _sha2 _sha3 _md5 _sha256 _sha512 _random "
    "_functools _contextvars kubescript_sandbox.language.guards kubescript_sandbox.language.reflection kubescript_sandbox.library.stdlib kubescript_sandbox.language.classes "
    "kubescript_sandbox.library.builtins kubescript_sandbox.library.wrappers kubescript_sandbox.library.copying kubescript_sandbox.library.data_fields kubescript_sandbox.library.shims kubescript_sandbox.library.timezones kubescript_sandbox.library.memory_views kubescript.guest.sdk.values.ages kubescript.guest.sdk.values.quantity_number"
)
HOMES: Final = frozenset(_HOMES.split()) | {__name__}
"""Modules whose types a script may meet. A new one is looked at before it is added."""


def leak(value: Any, homes: frozenset[str] = HOMES) -> str | None:
    """Why a script must not hold this value; None when it may. Runs no code of the script's."""
    kind = type(value)
    lineage = kind.__mro__
    if inside := next((bad for bad in (*INSIDES, *INSIDES_TOO) if bad in lineage), None):
        return f"a {inside.__name__}"
    if type in lineage:
        return _type(value, homes)
    if kind.__module__ not in homes:
        return f"an object of {kind.__module__}.{kind.__qualname__}"
    if any(value is raw for raw in RAW):
        return f"the builtin {value.__name__}"
    if kind in DESCRIPTORS:
        return _descriptor(value)
    if dict in lineage and dict.__contains__(value, "token") and dict.get(value, "token") == SECRET:
        return "the secret of the host object"
    return "the text of the secret" if kind is str and SECRET in value else None


def _type(value: type, homes: frozenset[str]) -> str | None:
    if value is not reflection.Type and type in type.__dict__["__mro__"].__get__(value):
        return f"the metaclass {value.__name__}"
    if value in {*MAKERS, *INSIDES, *INSIDES_TOO}:
        return f"the type {value.__name__}"
    return None if value.__module__ in homes else f"the type {value.__module__}.{value.__qualname__}"


def _descriptor(value: Any) -> str | None:
    owner = value.__objclass__ if hasattr(value, "__objclass__") else type(value.__self__)
    if value.__name__ in {"format", "format_map"} and str in owner.__mro__:
        return f"the raw str.{value.__name__}"
    return f"the descriptor {value.__name__}" if value.__name__ in MEDDLING else None


# --- the walk ---------------------------------------------------------------------------------------------------------

SAMPLES: Final = """
def generator():
    yield 1
class Thing:
    def __init__(self): self._x = 1
    def method(self): return 1
    @property
    def prop(self): return 1
    @classmethod
    def make(cls): return cls()
def error():
    try:
        None.x
    except AttributeError as e:
        return e
class Manager:
    def __enter__(self): return self
    def __exit__(self, kind, error, tb):
        self.seen = [kind, error]
        return True
manager = Manager()
with manager: 1/0
point = collections.namedtuple("Point", "x y")
[generator, generator(), Thing, Thing(), Thing().method, Thing.prop, error(), manager, iter([1]), functools.partial(generator),
 re.compile("a").match("a"), datetime.datetime.now(), zoneinfo.ZoneInfo("UTC"), list[int], int | str, typing.Optional["x"],
 typing.List[int], typing.Callable[[int], int], typing.TypeVar("T"), typing.Type[int], type[int], point, point(1, 2),
 decimal.Decimal(1), decimal.getcontext(), ipaddress.ip_network("10.0.0.0/8"), itertools.chain([1]), contextlib.suppress(),
 contextlib.ExitStack(), contextlib.contextmanager(generator)(), csv.reader(["a"]), csv.DictReader(["a", "b"]),
 csv.writer(io.StringIO()), io.StringIO("x"), io.BytesIO(), hashlib.sha256(b""), hmac.new(b"k", b"", "sha256"), random.Random(1),
 string.Template("$a"), fractions.Fraction(1, 2), statistics.NormalDist(), types.SimpleNamespace(a=1), types.MappingProxyType({}),
 urllib.parse.urlparse("http://a"), functools.lru_cache(generator), operator.itemgetter(1), operator.attrgetter("a"),
 operator.methodcaller("a"), collections.deque(), collections.Counter(), collections.ChainMap({}), map(str, [1]), zip([1]),
 enumerate([1]), reversed([1]), range(3), slice(1), b"", super(Thing, Thing()), property(generator), classmethod(generator),
 staticmethod(generator), difflib.SequenceMatcher(), time.localtime(), functools.cmp_to_key(generator),
 functools.cached_property(generator), dataclasses.field(), enum.Flag, abc.ABC, typing.NewType("N", int), logging.getLogger(),
 sys.stdout, calendar.month_name, age(None), age(datetime.timedelta(1)) * 2, quantity("1m"), memoryview(b"a"), memoryview(b"a")[:1], table([{"a": 1}]), top([1]), type, type(generator), type(generator()), "".format, str.format, "".format_map, error]
"""


def reachable(limit: int = 60) -> Iterator[tuple[str, object]]:
    """Everything that attributes, items and `type(x)` lead to from a fresh namespace and a sample of each kind of
    object."""
    scope = script_builtins.build_globals(print_=silent, extra={"k8s": Handle(), **helpers.GLOBALS}, importable={})
    samples = compiler.run(compiler.compile_script(SAMPLES), scope)
    found: dict[str, object] = scope["__builtins__"]  # type: ignore[assignment]
    roots = [(name, value) for name, value in [*scope.items(), *found.items()] if not name.startswith("_")]
    roots += [(f"sample[{i}]", value) for i, value in enumerate(cast("list[object]", samples))]
    return walk([*roots, *stdlib.MODULES.items()], limit)


def walk(
    roots: Iterable[tuple[str, object]], limit: int, *, known: Iterable[object] = (), most: int = 1_000_000
) -> Iterator[tuple[str, object]]:
    """Breadth first from the roots: each value once, `limit` of a type, `most` in all, and nothing that is `known`."""
    queue = deque(roots)
    seen: dict[int, object] = {id(value): value for value in known}
    kinds: Counter[type] = Counter()
    while queue and most:
        path, value = queue.popleft()
        kinds[type(value)] += 1
        rich = issubclass(type(value), (type, stdlib.ModuleProxy, types.FunctionType))
        if id(value) in seen or (kinds[type(value)] > limit and not rich):
            continue
        seen[id(value)] = value
        most -= 1
        yield path, value
        queue.extend(steps(path, value))


PROBED: Final = sorted({*identifiers.TEXTS, *identifiers.PROTOCOL, "_secret", "gi_frame", "tb_frame", "obj", "mro"})


def steps(path: str, value: Any) -> Iterator[tuple[str, object]]:
    """What one expression leads to from here. A script's own properties run, and may raise anything."""
    try:
        listed = dir(value)
    except BaseException:
        listed = []
    for name in sorted({*listed, *PROBED}):
        try:
            yield f"{path}.{name}", reflection.get(value, name)
        except BaseException:
            continue
    yield from ((f"{path}[{place}]", item) for place, item in _items(value))
    yield f"type({path})", reflection.Type(value)  # type: ignore[call-arg]  # one argument: a type's name


def _items(value: Any) -> list[tuple[object, object]]:
    """The first items, without the script's own `__iter__`."""
    for kind in (list, tuple, set, frozenset, deque):
        if issubclass(type(value), kind):
            return list(enumerate(list(kind.__iter__(value))[:100]))
    if issubclass(type(value), dict):
        return [(i, item) for i, pair in enumerate(list(dict.items(value))[:50]) for item in pair]
    return list(enumerate(list(value.values())[:50])) if type(value) is types.MappingProxyType else []
