"""Hypothesis strategies for whole scripts: every construct the compiler lets through, aimed at what must not be had.

A program is written by an `Author`, who knows which names are in scope and draws each choice from hypothesis. Most
dangerous names come as strings, which the compiler cannot see; a bold author writes them into the source as well.
Loops and repetitions are small, and what counts without end in C is left out: R-01 and R-02 bound those.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from kubescript.sandbox import names, namespace, refusals, stdlib

__all__ = ["KINDS", "Text", "programs"]

# --- vocabulary -------------------------------------------------------------------------------------------------------

DANGEROUS: Final = (
    "__class__ __globals__ __dict__ __subclasses__ __init_subclass__ __mro__ __bases__ __base__ __code__ __closure__ "
    "__builtins__ __self__ __func__ __wrapped__ __module__ __traceback__ __context__ __getattribute__ __setattr__ "
    "__reduce_ex__ __new__ __subclasshook__ __import__ __loader__ __spec__ __file__ __annotations__ __get__ "
    "__objclass__ __defaults__ __metaclass__ gi_frame gi_code gi_yieldfrom f_back f_globals f_builtins f_locals f_code "
    "tb_frame tb_next cr_frame ag_frame co_consts mro _getattr_ _write_ _secret _session _link _exports _apis _name"
).split()
"""What the rules refuse wherever it stands."""

JUDGED: Final = (
    "format format_map obj register func fget fset args keywords codecs sys modules os decoder _os _inst _fields "
    "_replace _asdict __init__ __getitem__ __eq__ __call__ __enter__ __exit__ __iter__ __format__ __name__ __qualname__ "
    "__doc__ __members__ cause with_traceback default_factory exc_info name value"
).split()
"""What depends on whose it is."""

PLAIN: Final = (
    "real keys items values append get update pop upper join split encode decode send throw close add extend copy "
    "metadata status spec labels data maps new_child elements group groups string pattern strftime date isoformat "
    "write getvalue read seek setdefault move_to_end fromkeys total as_tuple numerator cache_info cache_clear getter "
    "setter deleter field fields type default ask fail to_dict kind coreV1 list_namespaced_pod read_namespaced_pod push "
    "callback pop_all enter_context translate maketrans index __len__ __add__ __contains__ __setitem__ __str__ "
    "__repr__ __missing__ _x _y x y A B"
).split()

BUILTINS: Final = (
    "abs all any ascii bool bytes callable classmethod complex dict enumerate filter float format frozenset "
    "getattr hasattr setattr delattr vars dir int isinstance issubclass len list map max min next object print property "
    "repr reversed set slice sorted staticmethod str sum super tuple type zip Exception ValueError AttributeError "
    "KeyError StopIteration NotImplemented Ellipsis __name__"
).split()

ENDLESS: Final = {
    "itertools": "count cycle repeat permutations product combinations combinations_with_replacement",
    "math": "factorial comb perm",
    "operator": "pow lshift mul concat",
    "hashlib": "pbkdf2_hmac",
    "time": "time_ns monotonic_ns perf_counter_ns",
    "sys": "maxsize exit",
    "random": "getrandbits randbytes",
    "zlib": "crc32 adler32",
    "binascii": "crc32 crc_hqx",
    "decimal": "MAX_EMAX",
}
"""Members that run or allocate without end, or give the numbers that make others do so."""

BASES: Final = (
    "str int float list dict tuple set bytes Exception AttributeError KeyError BaseException object abc.ABC "
    "contextlib.ContextDecorator contextlib.AbstractContextManager collections.UserDict collections.UserList "
    "collections.OrderedDict collections.defaultdict collections.Counter collections.deque collections.ChainMap "
    "collections.abc.Mapping collections.abc.Iterator collections.abc.Callable typing.Protocol typing.Generic "
    "collections.namedtuple('P','x,y') enum.Enum enum.IntEnum enum.StrEnum enum.Flag typing.NamedTuple typing.TypedDict"
).split()

DUNDERS: Final = {
    "__init__": "self, *a, **k",
    "__post_init__": "self",
    "__getattr__": "self, name",
    "__eq__": "self, other",
    "__lt__": "self, other",
    "__call__": "self, *a, **k",
    "__enter__": "self",
    "__exit__": "self, kind, error, tb",
    "__iter__": "self",
    "__next__": "self",
    "__getitem__": "self, key",
    "__setitem__": "self, key, value",
    "__contains__": "self, other",
    "__missing__": "self, key",
    "__add__": "self, other",
    "__radd__": "self, other",
    "__iadd__": "self, other",
    "__mod__": "self, other",
    "__rmod__": "self, other",
    "__ror__": "self, other",
    "__or__": "self, other",
    "__matmul__": "self, other",
    "__str__": "self",
    "__repr__": "self",
    "__format__": "self, spec",
    "__bytes__": "self",
    "__hash__": "self",
    "__len__": "self",
    "__bool__": "self",
    "__index__": "self",
    "__getattribute__": "self, name",
    "__new__": "cls, *a",
    "__del__": "self",
    "__init_subclass__": "cls, **k",
    "__set_name__": "self, owner, name",
    "__class_getitem__": "cls, item",
    "__get__": "self, obj, owner",
    "__reduce__": "self",
    "__instancecheck__": "cls, x",
}
"""Method ▶ parameters. The last ones are refused, and only a bold author writes them."""
_REFUSED_DUNDERS: Final = [name for name in DUNDERS if name not in names.DEFINABLE]
_SMALL: Final = {"__hash__": "1", "__len__": "2", "__bool__": "True", "__index__": "1", "__bytes__": "b'x'"}
_TEXTUAL: Final = {"__str__", "__repr__", "__format__"}

DECORATORS: Final = (
    "property staticmethod classmethod functools.cache functools.lru_cache(2) functools.cached_property "
    "contextlib.contextmanager functools.wraps(print) functools.total_ordering abc.abstractmethod "
    "dataclasses.dataclass dataclasses.dataclass(slots=True) dataclasses.dataclass(frozen=True,order=True) enum.unique"
).split()

OPERATORS: Final = "+ - % / // & | ^ == != < in is and or @ not_in".split()


def _members() -> list[tuple[str, list[str]]]:
    modules = {**stdlib.MODULES, **namespace._talking(lambda *_a, **_k: None)}
    listed = {name: [m for m in dir(proxy) if m not in ENDLESS.get(name, "").split()] for name, proxy in modules.items()}
    listed["kubernetes"] = ["client", "config", "watch", "utils"]
    listed["kubernetes.client"] = ["CoreV1Api", "V1Pod", "V1ObjectMeta", "ApiClient", "ApiException", "Configuration"]
    return sorted(listed.items())


MODULES: Final = _members()
"""Module ▶ what it has."""

ABSENT: Final = ("os", "sys.modules", "json.codecs", "importlib", "builtins", "re._parser", "random._os", "kubescript.sdk")

# Recipes: $e is any expression, $f a callable, $n a name in a string, $c a class, $t a template text.
RECIPES: Final = (
    "getattr($e, $n)",
    "getattr($e, $n)",
    "getattr($e, $n, None)",
    "getattr(($e for i in [1]), $n)",
    "getattr(lambda: $e, $n)",
    "getattr(k8s, $n)",
    "getattr(handle.ask, $n)",
    "getattr(json, $n)",
    "getattr('x', $n)",
    "getattr($c, $n)",
    "hasattr($e, $n)",
    "setattr($e, $n, $e)",
    "delattr($e, $n)",
    "[getattr($e, n, None) for n in dir($e)[:9]]",
    "$t.format($e, $e, a=$e)",
    "$t.format_map({'a': $e, '0': $e})",
    "str.format($t, $e, $e)",
    "'%s %r' % ($e, $e)",
    "'%(a)s' % {'a': $e}",
    "'%s' % $e",
    "operator.attrgetter($n)($e)",
    "operator.methodcaller($n, $e)($e)",
    "operator.itemgetter($e)($e)",
    "operator.getitem($e, $e)",
    "functools.partial($f, $e)",
    "functools.partial($f, $e)()",
    "functools.reduce($f, [$e, $e])",
    "functools.cached_property($f)",
    "functools.cmp_to_key($f)($e)",
    "functools.wraps($e)($f)",
    "list(map($f, [$e, $e]))",
    "list(filter($f, [$e, $e]))",
    "list(itertools.starmap($f, [($e, $e)]))",
    "list(itertools.islice(iter($e), 3))",
    "next(iter($e), $e)",
    "sorted([$e, $e], key=$f)",
    "max([$e, $e], key=$f)",
    "dict(zip([$e], [$e]))",
    "dict(a=$e, **{'b': $e})",
    "collections.defaultdict($f)[$e]",
    "collections.ChainMap({'a': $e}, $e)",
    "collections.namedtuple('N', 'x y')($e, $e)",
    "collections.namedtuple('N', $n)",
    "contextlib.contextmanager($f)",
    "contextlib.closing($e)",
    "copy.copy($e)",
    "copy.deepcopy($e)",
    "dataclasses.replace($e, x=$e)",
    "dataclasses.asdict($e)",
    "dataclasses.astuple($e)",
    "dataclasses.fields($e)",
    "dataclasses.field(default_factory=$f)",
    "json.dumps($e, default=$f)",
    "json.loads('{\"a\": [1]}', object_hook=$f)",
    "re.sub('a', $f, 'ba')",
    "re.compile('(?P<a>.)').match('x')",
    "string.Template('$$a ${b}').safe_substitute($e)",
    "types.SimpleNamespace(x=$e)",
    "types.MappingProxyType({'a': $e})",
    "typing.cast($e, $e)",
    "typing.Optional[$e]",
    "typing.NewType('T', $e)($e)",
    "enum.auto()",
    "decimal.Decimal(3) + $e",
    "datetime.datetime(2026, 1, 2).strftime($t)",
    "format($e, $t)",
    "isinstance($e, $c)",
    "issubclass($c, $c)",
    "type($e)",
    "type(type($e))",
    "type($e)($e)",
    "type('X', (), {$n: $e})",
    "vars($e)",
    "vars($c)",
    "dir($e)",
    "property($f)",
    "property($f).fget",
    "classmethod($f)",
    "staticmethod($f)",
    "super($c, $e)",
    "getattr(super($c, $e), $n)",
    "str($e)",
    "repr($e)",
    "list($e)",
    "tuple($e)",
    "dict($e)",
    "print($e, $e, sep='')",
    "print($e, file=$e)",
    "pprint.pformat($e)",
    "logging.getLogger().info('%s', $e)",
    "statistics.mean([$e, $e])",
    "csv.DictReader(['a', 'b'], restval=$e)",
    "io.StringIO().write($e)",
    "k8s.coreV1().list_namespaced_pod('shop')",
    "k8s.coreV1().list_namespaced_pod('shop').items[0].metadata",
    "getattr(k8s.coreV1().list_namespaced_pod('shop').items[0], $n)",
    "k8s.coreV1().read_namespaced_pod('web', $e)",
    "client.V1Pod(metadata=$e)",
    "client.V1ObjectMeta(name=$e, labels=$e).to_dict()",
    "handle.fail()",
    "handle.ask()",
    "ValueError($e, $e)",
    "$e.with_traceback($e)",
    "ctx.namespace",
)

FIELDS: Final = ("0", "a", "0[0]", "1", "")
SPECS: Final = ("", ":>5", ":%Y", ":{1}", "!r", "!s:x", "!a", ":{0.x}")
LITERALS: Final = ("1", "0", "True", "None", "'x'", "b'y'", "2.5", "[]", "{}", "()", "'{0.__class__}'", "3j", "...")
_HOLE: Final = string.Template.pattern
KINDS: Final[set[str]] = set()
"""Every construct an author can write; the test asks that each was in a program that ran."""


def _kind(method: Callable[..., Any]) -> Callable[..., Any]:
    """Register a construct."""
    KINDS.add(method.__name__.strip("_"))
    return method


@dataclass(frozen=True)
class Text:
    """One program."""

    source: str
    used: frozenset[str]
    """Constructs in it."""


_CHOICES: Final = [st.integers(0, n) for n in range(200)]


class Author:
    """Writes one program. Expressions are text, statements lists of lines."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self.draw = draw
        self.bold = not self.below(4)
        self.used: set[str] = set()
        self.scopes: list[list[str]] = [[]]
        self.shared: list[list[str]] = [[]]
        """Names a nested function may declare nonlocal, by scope."""
        self.classes: list[str] = []
        self.counter = 0
        self.left = 260
        """Expressions that may still be drawn."""
        self.in_function = 0
        self.in_loop = 0
        self.in_class = False
        self.closed = 0
        """Inside a comprehension or lambda, where some constructs would be syntax errors."""

    # --- choices

    def below(self, bound: int) -> int:
        return self.draw(_CHOICES[bound - 1])

    def pick[T](self, options: Sequence[T]) -> T: ...
