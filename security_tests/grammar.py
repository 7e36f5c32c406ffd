"""Hypothesis strategies for whole scripts: every construct the compiler lets through, aimed at what must not be had.

A program is written by an `Author`, who knows which names are in scope and draws each choice from hypothesis. Most
dangerous names come as strings, which the compiler cannot see; a bold author writes them into the source as well.
Loops and repetitions are small, and what counts without end in C is left out: R-01 and R-02 bound those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from kubescript_sandbox.language import compiler, identifiers, reflection
from kubescript_sandbox.library import builtins, stdlib
from security_tests import reach

__all__ = ["KINDS", "Text", "programs"]


def _words(text: str) -> list[str]:
    return text.split()


# --- vocabulary -------------------------------------------------------------------------------------------------------

DANGEROUS: Final = _words(
    "__class__ __globals__ __dict__ __subclasses__ __init_subclass__ __mro__ __bases__ __base__ __code__ __closure__ "
    "__builtins__ __self__ __func__ __wrapped__ __module__ __traceback__ __context__ __getattribute__ __setattr__ "
    "__reduce_ex__ __new__ __subclasshook__ __import__ __loader__ __spec__ __file__ __annotations__ __get__ "
    "__objclass__ __defaults__ __metaclass__ gi_frame gi_code gi_yieldfrom f_back f_globals f_builtins f_locals f_code "
    "tb_frame tb_next cr_frame ag_frame co_consts mro _getattr_ _write_ _secret _session _link _exports _apis _name"
)
"""What the rules refuse wherever it stands."""

JUDGED: Final = _words(
    "format format_map obj register func fget fset args keywords codecs sys modules os decoder _os _inst _fields "
    "_replace _asdict __init__ __getitem__ __eq__ __call__ __enter__ __exit__ __iter__ __format__ __name__ __qualname__ "
    "__doc__ __members__ cause with_traceback default_factory exc_info name value"
)
"""What depends on whose it is."""

PLAIN: Final = _words(
    "real keys items values append get update pop upper join split encode decode send throw close add extend copy "
    "metadata status spec labels data maps new_child elements group groups string pattern strftime date isoformat "
    "write getvalue read seek setdefault move_to_end fromkeys total as_tuple numerator cache_info cache_clear getter "
    "setter deleter field fields type default ask fail to_dict kind coreV1 list_namespaced_pod read_namespaced_pod push "
    "callback pop_all enter_context translate maketrans index __len__ __add__ __contains__ __setitem__ __str__ "
    "__repr__ __missing__ _x _y x y A B"
)

BUILTINS: Final = _words(
    "abs all any ascii bool bytes callable classmethod complex dict enumerate filter float format frozenset "
    "getattr hasattr setattr delattr vars dir int isinstance issubclass len list map max min next object print property "
    "repr reversed set slice sorted staticmethod str sum super tuple type zip Exception ValueError AttributeError "
    "KeyError StopIteration NotImplemented Ellipsis __name__"
)

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

BASES: Final = _words(
    "str int float list dict tuple set bytes Exception AttributeError KeyError BaseException object abc.ABC "
    "contextlib.ContextDecorator contextlib.AbstractContextManager collections.UserDict collections.UserList "
    "collections.OrderedDict collections.defaultdict collections.Counter collections.deque collections.ChainMap "
    "collections.abc.Mapping collections.abc.Iterator collections.abc.Callable typing.Protocol typing.Generic "
    "collections.namedtuple('P','x,y') enum.Enum enum.IntEnum enum.StrEnum enum.Flag typing.NamedTuple typing.TypedDict"
)

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
_REFUSED_DUNDERS: Final = [name for name in DUNDERS if name not in identifiers.DEFINABLE]
_SMALL: Final = {"__hash__": "1", "__len__": "2", "__bool__": "True", "__index__": "1", "__bytes__": "b'x'"}
_TEXTUAL: Final = {"__str__", "__repr__", "__format__"}

DECORATORS: Final = _words(
    "property staticmethod classmethod functools.cache functools.lru_cache(2) functools.cached_property "
    "contextlib.contextmanager functools.wraps(print) functools.total_ordering abc.abstractmethod "
    "dataclasses.dataclass dataclasses.dataclass(slots=True) dataclasses.dataclass(frozen=True,order=True) enum.unique"
)

OPERATORS: Final = _words("+ - % / // & | ^ == != < in is and or @ not_in")


def _members() -> list[tuple[str, list[str]]]:
    modules = {**stdlib.MODULES, **builtins._output_modules(lambda *_a, **_k: None)}
    listed = {
        name: [m for m in dir(proxy) if m not in ENDLESS.get(name, "").split()] for name, proxy in modules.items()
    }
    listed["kubernetes"] = ["client", "config", "watch", "utils"]
    listed["kubernetes.client"] = ["CoreV1Api", "V1Pod", "V1ObjectMeta", "ApiClient", "ApiException", "Configuration"]
    return sorted(listed.items())


MODULES: Final = _members()
"""Module ▶ what it has."""

ABSENT: Final = (
    "os",
    "sys.modules",
    "json.codecs",
    "importlib",
    "builtins",
    "re._parser",
    "random._os",
    "kubescript.guest.sdk",
)

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
_HOLE: Final = re.compile(r"\$[efnct$]")
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])
KINDS: Final[set[str]] = set()
"""Every construct an author can write; the test asks that each was in a program that ran."""


def kind(method: Method) -> Method:
    """Register a construct."""
    KINDS.add(method.__name__)
    return method


PRELUDE: Final = """
def attempt(f):
    try:
        return f()
    except Exception as e:
        return e
def numbers(*p1):
    yield p1
    yield 2
class Thing:
    def __init__(self, *p1):
        self.x, self._x = 1, p1
    def ask(self, *p1):
        return p1
    @property
    def value(self):
        return self
    @classmethod
    def make(cls, *p1):
        return cls(*p1)
@dataclasses.dataclass
class Row:
    x: object = 1
    y: list = dataclasses.field(default_factory=list)
class Words(str):
    pass
class Color(enum.Enum):
    A = 1
    B = "x"
class Manager:
    def __enter__(self):
        return self
    def __exit__(self, *p1):
        self.seen = p1
        print(*p1)
        return True
class Spy:
    def __getattr__(self, name):
        return self
    def __call__(self, *p1, **p2):
        print(p1, p2)
        return self
    def __eq__(self, other):
        print(other)
        return True
    def __hash__(self):
        return 1
    def __format__(self, spec):
        return spec
    def __getitem__(self, key):
        return key
    def __radd__(self, other):
        print(other)
        return self
    __add__ = __or__ = __ror__ = __mod__ = __rmod__ = __radd__
gen, thing, row, words, manager, spy = numbers(1), Thing(2), Row(), Words("{0.__class__}"), Manager(), Spy()
error = attempt(lambda: handle.fail())
absent = attempt(lambda: None.x)
point = collections.namedtuple("Point", "x y")(1, 2)
matched = re.compile("(?P<a>.)").match("x")
bound, unbound, made, parted = thing.ask, Thing.ask, functools.partial(numbers, 1), functools.lru_cache(numbers)
mapping, several, when = {"a": gen, "x": Thing}, [thing, Thing, error], datetime.datetime(2026, 1, 2)
inherited, stack = super(Words, words), contextlib.ExitStack()
with manager:
    1 / 0
"""
"""What a program finds defined: an object of each kind, so that not every second line is a NameError or TypeError."""

CLASSES: Final = ("Thing", "Row", "Words", "Color", "Manager", "Spy")
CLUSTER: Final = {
    "k8s": _words("coreV1 appsV1 get list kinds api"),
    "pods": _words("items metadata to_dict kind"),
    "pod": _words("metadata status spec to_dict kind"),
    "ctx": _words("namespace name progress timeout"),
}
_CLUSTER_LINES: Final = "pods = k8s.coreV1().list_namespaced_pod('shop')\npod = pods.items[0]"


def _samples() -> dict[str, list[str]]:
    """Every name of the prelude, and its public attributes."""
    program = compiler.compile_script(PRELUDE)
    scope = builtins.build_globals(print_=reach.silent, extra={"handle": reach.Handle()}, importable={})
    start = set(scope) - {"handle"}
    compiler.run(program, scope)
    return {name: reflection.listing(value) or ["x"] for name, value in scope.items() if name not in start} | CLUSTER


SAMPLES: Final = _samples()


@dataclass(frozen=True)
class Text:
    """One program."""

    source: str
    used: frozenset[str]
    """Constructs in it."""


SIMPLE: Final = ("name", "name", "literal", "builtin", "member", "generator")
COMMON: Final = ("call", "method_call", "reading", "recipe", "recipe", "attempt", "attempt")
RARE: Final = (
    *("item", "slice", "lambda_", "comprehension", "conditional", "boolean", "binary", "display", "fstring"),
    *("walrus", "yield_", "unary", "super_call", "made"),
)
_CHOICES: Final = [st.integers(0, n) for n in range(200)]


class Author:
    """Writes one program. Expressions are text, statements lists of lines."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self.draw = draw
        self.bold = self.below(4) == 3
        self.used: set[str] = set()
        self.scopes: list[list[str]] = [list(SAMPLES)]
        self.parameters: list[list[str]] = []
        """What a nested function may declare nonlocal, by function."""
        self.classes: list[str] = list(CLASSES)
        self.counter = 0
        self.nested = 0
        """Depth of the expression being written."""
        self.blocks = 0
        """Depth of the statement being written."""
        self.left = 150
        """Expressions that may still be written."""
        self.yields = False
        """Whether `yield` may stand here."""
        self.closed = 0
        """Depth of comprehensions and lambdas, where `:=` and `yield` would be syntax errors."""

    # --- choices ------------------------------------------------------------------------------------------------------

    def below(self, bound: int) -> int:
        return self.draw(_CHOICES[bound - 1])

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def fresh(self) -> str:
        self.counter += 1
        return f"v{self.counter}"

    def any_of(self, *methods: Callable[[], T]) -> T:
        method = self.pick(methods)
        if method.__name__ in KINDS:
            self.used.add(method.__name__)
        return method()

    # --- names --------------------------------------------------------------------------------------------------------

    def target(self) -> str:
        """A name to bind: mostly new, sometimes one of this scope's, sometimes a builtin's."""
        choice = self.below(12)
        if choice == 7 and len(self.scopes) == 1:
            name = self.pick(("x", "y", "list", "isinstance", "getattr", "str", "__", "_x", "json"))
        else:
            here = [name for name in self.scopes[-1] if name[0] == "v"]
            name = self.pick(here) if here and choice > 4 else self.fresh()
        if name not in self.scopes[-1]:
            self.scopes[-1].append(name)
        return name

    def name(self) -> str:
        scope = self.pick([scope for scope in self.scopes if scope])
        return self.pick(scope)

    def attribute(self) -> str:
        """The name of an attribute, as the source may have it."""
        if self.bold and not self.below(9):
            return self.pick(DANGEROUS)
        return self.pick(JUDGED) if self.below(2) else self.pick(PLAIN)

    def naming(self) -> str:
        """A text that names an attribute."""
        known = SAMPLES[self.pick(list(SAMPLES))]
        name = self.pick((DANGEROUS, DANGEROUS, JUDGED, PLAIN, known)[self.below(5)])
        form = self.below(4)
        if form == 0:
            half = self.below(len(name)) if len(name) < 200 else 1
            return f"({name[:half]!r} + {name[half:]!r})"
        return (repr(name), f"'{name[::-1]}'[::-1]", f"str({name!r})")[form - 1]

    def template(self) -> str:
        """A text for str.format."""
        chain = "".join(f".{self.pick(DANGEROUS if self.below(2) else JUDGED)}" for _ in range(self.below(3)))
        index = self.pick(("", "[0]", "[x]"))
        return repr("{" + self.pick(FIELDS) + chain + index + self.pick(SPECS) + "}")

    def a_class(self) -> str:
        if self.classes and self.below(4):
            return self.pick(self.classes)
        return self.pick(BASES[:12])

    def function(self) -> str:
        """Something that can be called."""
        choice = self.below(6)
        if choice < 2:
            return self.name()
        if choice == 2:
            return self.pick(BUILTINS)
        return (self.lambda_, self.member, self.reading)[choice - 3]()

    # --- expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> str:
        if self.left < 0 or self.nested > 3:
            return self.any_of(self.name, self.name, self.literal, self.builtin, self.member, self.generator)
        self.left -= 1
        self.nested += 1
        text: str = self.any_of(*(getattr(self, name) for name in self.pick((SIMPLE, COMMON, COMMON, RARE))))
        self.nested -= 1
        return text

    def few(self, most: int = 2) -> list[str]:
        return [self.expression() for _ in range(self.below(most + 1))]

    def literal(self) -> str:
        return self.pick(LITERALS)

    def builtin(self) -> str:
        if self.bold and not self.below(6):
            return self.pick(("open", "eval", "exec", "globals", "_getattr_", "__import__", "__builtins__", "compile"))
        return self.pick(BUILTINS)

    @kind
    def member(self) -> str:
        module, members = self.pick(MODULES)
        return f"{module}.{self.pick(members)}" if members else module

    @kind
    def reading(self) -> str:
        if self.below(3):
            return self.known()
        return f"({self.expression()}).{self.attribute()}"

    def known(self) -> str:
        """An attribute that is there."""
        name = self.pick(list(SAMPLES))
        return f"{name}.{self.pick(SAMPLES[name])}"

    @kind
    def attempt(self) -> str:
        """An expression whose error is its value."""
        return self.inside([], "attempt(lambda: ", ")")

    def value(self) -> str:
        """An expression for a statement; mostly one that does not end it."""
        return self.attempt() if self.below(3) else self.expression()

    @kind
    def item(self) -> str:
        return f"({self.expression()})[{self.expression()}]"

    @kind
    def slice(self) -> str:
        return f"({self.expression()})[{self.pick(('1:', ':2', '::2', ':', '0:1, 1'))}]"

    def arguments(self) -> str:
        parts = [("", "", "", "*", "a=", "**")[self.below(6)] + f"({text})" for text in self.few()]
        if sum(part.startswith("a=") for part in parts) > 1:
            parts.pop()
        return ", ".join(sorted(parts, key=lambda part: (part.startswith("**"), part.startswith("a="))))

    @kind
    def call(self) -> str:
        return f"({self.function()})({self.arguments()})"

    @kind
    def method_call(self) -> str:
        if self.below(2):
            return f"{self.known()}({self.arguments()})"
        return f"({self.expression()}).{self.attribute()}({self.arguments()})"

    def made(self) -> str:
        return f"{self.a_class()}({', '.join(self.few())})"

    @kind
    def recipe(self) -> str:
        holes: dict[str, Callable[[], str]] = {
            "$e": self.expression,
            "$f": self.function,
            "$n": self.naming,
            "$c": self.a_class,
            "$t": self.template,
            "$$": lambda: "$",
        }
        return _HOLE.sub(lambda match: holes[match[0]](), self.pick(RECIPES))

    @kind
    def lambda_(self) -> str:
        names_ = self.pick((["*a"], ["x"], ["x", "y=1"], ["x", "/"], ["*", "x=2"], ["*a", "**k"]))
        return self.inside([n.strip("*/").partition("=")[0] for n in names_], f"(lambda {', '.join(names_)}: ", ")")

    def inside(self, bound: list[str], head: str, tail: str) -> str:
        """An expression in a scope of its own."""
        self.scopes.append([name for name in bound if name])
        self.closed += 1
        text = self.expression()
        self.closed -= 1
        self.scopes.pop()
        return head + text + tail

    def source(self) -> str:
        """What a comprehension or loop goes over: few things."""
        return self.any_of(
            lambda: f"[{self.expression()}, {self.expression()}]",
            lambda: f"itertools.islice({self.expression()}, 3)",
            lambda: f"enumerate([{self.expression()}])",
            lambda: f"zip([{self.expression()}], [{self.expression()}])",
        )

    @kind
    def comprehension(self) -> str:
        self.closed += 1
        over, condition = self.source(), self.pick(("", "", " if i", " for j in [1, 2]"))
        self.closed -= 1
        head, tail = self.pick(("[]", "{}", "()", ("{1: ", "}")))
        return self.inside(["i"], head, f" for i in {over}{condition}{tail}")

    @kind
    def generator(self) -> str:
        return f"({self.name()} for i in [1, 2])"

    @kind
    def conditional(self) -> str:
        return f"({self.expression()} if {self.expression()} else {self.expression()})"

    @kind
    def boolean(self) -> str:
        return f"(({self.expression()}) {self.pick(('and', 'or', '==', 'is', 'in', '<'))} ({self.expression()}))"

    @kind
    def binary(self) -> str:
        return f"(({self.expression()}) {self.pick(OPERATORS).replace('_', ' ')} ({self.expression()}))"

    def unary(self) -> str:
        return f"({self.pick(('not', '-', '+', '~'))} ({self.expression()}))"

    @kind
    def display(self) -> str:
        parts = [self.pick(("", "", "*")) + f"({text})" for text in self.few(3)]
        text = ", ".join(parts)
        return self.pick((f"[{text}]", f"({text},)" if text else "()", f"{{'a': {self.expression()}}}"))

    @kind
    def fstring(self) -> str:
        inner = self.expression()
        if not inner.isidentifier():  # quotes and braces may not be nested before Python 3.12
            inner = self.name()
        reading = self.pick(("", f".{self.attribute()}", "[0]", "()"))
        return "f'{" + inner + reading + self.pick(("", "!r", "!s:>9", ":>{" + self.name() + "}", "=")) + "}'"

    @kind
    def walrus(self) -> str:
        return self.name() if self.closed else f"({self.target()} := {self.expression()})"

    @kind
    def yield_(self) -> str:
        if self.closed or not self.yields:
            return self.name()
        return f"({self.pick(('yield', 'yield', 'yield from'))} ({self.expression()}))"

    def super_call(self) -> str:
        return f"super().{self.attribute()}"

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, most: int = 2) -> list[str]:
        self.blocks += 1
        lines = [line for _ in range(1 + self.below(most)) for line in self.statement()]
        self.blocks -= 1
        return ["    " + line for line in lines]

    def statement(self) -> list[str]:
        simple = (
            *(self.assign, self.assign, self.show, self.show, self.augment, self.unpack, self.place, self.import_),
            *(self.from_import, self.delete, self.annotate, self.assert_),
        )
        compound = (self.if_, self.for_, self.while_, self.try_, self.with_, self.match, self.def_, self.class_)
        if self.blocks > 2 or self.left < 0 or self.below(2):
            return self.any_of(*simple)
        return self.any_of(*compound)

    def show(self) -> list[str]:
        return [f"print({', '.join(self.value() for _ in range(1 + self.below(3)))})"]

    @kind
    def assign(self) -> list[str]:
        value = self.value()
        return [f"{self.target()} = {value}"]

    @kind
    def annotate(self) -> list[str]:
        value, kind_ = self.value(), self.pick(("int", "typing.ClassVar[int]", "dataclasses.InitVar", "'x'"))
        return [f"{self.target()}: {kind_} = {value}"]

    @kind
    def unpack(self) -> list[str]:
        value = self.pick((f"{self.value()}, {self.value()}", self.expression()))
        return [f"{self.target()}, {self.pick(('', '*'))}{self.target()} = {value}"]

    @kind
    def place(self) -> list[str]:
        """Store into an attribute or item."""
        value, owner = self.expression(), self.name()
        where = self.pick((f"{owner}.{self.attribute()}", f"{owner}[{self.expression()}]", f"{owner}.x", f"{owner}._x"))
        return [f"{where} = {value}"]

    @kind
    def augment(self) -> list[str]:
        owner, value = self.name(), self.expression()
        where = self.pick((owner, owner, f"{owner}.{self.attribute()}", f"{owner}['a']"))
        if where == owner and owner not in self.scopes[-1]:
            where = f"{owner}.x"
        return [f"{where} {self.pick(('+=', '-=', '|=', '%=', '@=', '&='))} {value}"]

    @kind
    def delete(self) -> list[str]:
        return [f"del {self.name()}{self.pick(('.x', '[0]', f'.{self.attribute()}', '[:]'))}"]

    def assert_(self) -> list[str]:
        return [f"assert {self.expression()}, {self.expression()}"]

    @kind
    def import_(self) -> list[str]:
        module = self.pick(ABSENT) if not self.below(5) else self.pick(MODULES)[0]
        return [f"import {module} as {self.target()}"]

    @kind
    def from_import(self) -> list[str]:
        module, members = self.pick(MODULES)
        name = self.attribute() if not members or not self.below(5) else self.pick(members)
        return [f"from {module} import {name} as {self.target()}"]

    @kind
    def if_(self) -> list[str]:
        return [f"if {self.expression()}:", *self.block(), "else:", *self.block()]

    @kind
    def for_(self) -> list[str]:
        over = self.source()
        names_ = self.target() if "zip" not in over else f"{self.target()}, {self.target()}"
        body = self.block()
        return [f"for {names_} in {over}:", *body, *self.pick(([], ["    continue"], ["else:", *self.block(1)]))]

    @kind
    def while_(self) -> list[str]:
        count = f"n{len(self.fresh())}{self.counter}"
        return [f"{count} = 0", f"while {count} < 2:", f"    {count} += 1", *self.block(1)]

    @kind
    def try_(self) -> list[str]:
        body = self.block()
        caught = f"except {self.pick(('Exception', 'BaseException', '(TypeError, AttributeError)', self.a_class()))}"
        error = self.fresh()
        self.scopes[-1].append(error)
        ends = self.pick(([], [], ["finally:", *self.block(1)], ["else:", *self.block(1)]))
        handler = [f"    print({error})", f"    {self.target()} = {error}", *self.block(1)]
        return [*("try:", *body), f"{caught} as {error}:", *handler, *ends]

    @kind
    def raise_(self) -> list[str]:
        error = self.pick((f"ValueError({self.expression()})", self.name(), f"{self.a_class()}({self.expression()})"))
        return [f"raise {error}{self.pick(('', '', ' from None', f' from {self.name()}'))}"]

    @kind
    def with_(self) -> list[str]:
        manager = self.pick(
            (
                *(self.name(), f"{self.a_class()}()", "contextlib.suppress(Exception)", "contextlib.ExitStack()"),
                *(f"contextlib.nullcontext({self.expression()})", f"contextlib.closing({self.name()})"),
                *("decimal.localcontext()", f"contextlib.contextmanager({self.function()})()"),
            )
        )
        name = self.target()
        pushed = [f"    {name}.push(lambda *a: print(*a) or {self.name()})"] if "ExitStack" in manager else []
        return [f"with {manager} as {name}:", *pushed, *self.block(), *self.pick(([], [], ["    1 / 0"]))]

    @kind
    def match(self) -> list[str]:
        subject, name, rest = self.expression(), self.fresh(), self.fresh()
        dotted = f"{self.name()}.{self.attribute()}"
        patterns = (
            f"[{name}, *{rest}]",
            f"{{'a': {name}, **{rest}}}",
            f"str({name}) | int({name})",
            dotted,
            f"{{{dotted}: {name}}}",
            f"(1 | 'x' | None) as {name}",
            f"({name}, {rest})",
            *((f"object(x={name})", f"{self.a_class()}({name}, {rest})") if self.bold else ()),
        )
        self.scopes[-1] += [name, rest]
        first = self.pick(patterns)
        return [
            *(f"match {subject}:", f"    case {first} if {self.pick(('True', self.name()))}:"),
            *("    " + line for line in [f"    print({name})", *self.block(1)]),
            *("    case _:", *("    " + line for line in self.block(1))),
        ]

    # --- functions and classes ----------------------------------------------------------------------------------------

    def body(self, parameters: str) -> list[str]:
        """The lines of a function: it shows what it is given, does something, and mostly returns something."""
        given = [part.strip(" */").partition("=")[0] for part in parameters.split(",")]
        given = [name for name in given if name]
        nested, self.nested = self.nested, 0
        before = (self.yields, self.closed)
        self.yields, self.closed = True, 0
        outer = [name for names_ in self.parameters[-1:] for name in names_ if name not in given]
        head = []
        if outer and not self.below(4):
            self.used.add("nonlocal")
            head = [f"    nonlocal {self.pick(outer)}"]
        elif not self.below(4):
            self.used.add("global")
            shared = f"g{self.below(3)}"
            head = [f"    global {shared}"]
            head.append(f"    {shared} = {self.pick(given) if given else '1'}")
            self.scopes[0].append(shared)
        self.scopes.append(list(given))
        self.parameters.append(given)
        shown = [f"    print({', '.join(given)})"] if given else []
        lines = [*head, *shown, *self.block(1), *self.ending()]
        self.scopes.pop()
        self.parameters.pop()
        self.nested = nested
        self.yields, self.closed = before
        return lines

    def ending(self) -> list[str]:
        choice = self.below(6)
        if choice == 0:
            self.used.add("generator_function")
            return [f"    yield {self.expression()}", f"    yield {self.expression()}"]
        if choice == 1:
            self.used.add("raise_")
            return ["    " + line for line in self.raise_()]
        return [f"    return {self.expression()}"]

    def decorators(self) -> list[str]:
        if self.below(3):
            return []
        self.used.add("decorator")
        return ["@" + (self.pick(DECORATORS) if self.below(3) else self.function())]

    @kind
    def def_(self) -> list[str]:
        parameters = self.pick(("", "*p1", "p1", "p1, p2=1", "p1, /, p2=None", "*, p1=2", "*p1, **p2", "p1, *p2"))
        if self.below(4) == 0:
            parameters = f"p1={self.expression()}"
        decorated = [line for line in self.decorators() if not line.startswith(("@dataclass", "@enum", "@abc"))]
        name = self.target()
        lines = [*decorated, f"def {name}({parameters}):", *self.body(re.sub(r"=.*", "=1", parameters))]
        return [*lines, f"{self.target()} = {name}({self.expression()})"] if self.below(3) else lines

    @kind
    def class_(self) -> list[str]:
        bases = [self.pick(BASES if self.below(3) else [*self.classes, "object"]) for _ in range(self.below(3))]
        if not self.below(12):
            bases.append(self.expression())
        base = ", ".join(dict.fromkeys(bases))
        decorated = self.decorators()
        name = self.fresh()
        before, self.yields = self.yields, False
        self.scopes.append([])
        self.closed += 1
        body = [
            line
            for _ in range(1 + self.below(3))
            for line in self.any_of(self.field, self.dunder, self.member_function)
        ]
        self.closed -= 1
        self.scopes.pop()
        self.yields = before
        self.scopes[-1].append(name)
        if len(self.scopes) == 1:
            self.classes.append(name)
        made = self.target()
        lines = [*decorated, f"class {name}({base}):", *("    " + line for line in body)]
        return [*lines, f"{made} = {name}({', '.join(self.few())})"]

    @kind
    def field(self) -> list[str]:
        name = self.pick(("A", "B", "x", "y", "_y", self.attribute()))
        return [self.pick((f"{name} = {self.expression()}", f"{name}: int = {self.expression()}", f"{name}: object"))]

    @kind
    def dunder(self) -> list[str]:
        usual = [name for name in DUNDERS if name not in _REFUSED_DUNDERS]
        name = self.pick(_REFUSED_DUNDERS if self.bold and not self.below(4) else usual)
        lines = self.body(DUNDERS[name])
        if name in _SMALL:
            lines = [lines[0], f"    return {_SMALL[name]}"] if lines[0].startswith("    print") else ["    return 1"]
        if name in _TEXTUAL:
            lines = [f"    return '%s' % ({self.name()},)"]
        if name == "__init__":
            lines = [f"    self.x = self._x = {self.expression()}", "    self.y = a"]
        return [f"def {name}({DUNDERS[name]}):", *lines]

    @kind
    def member_function(self) -> list[str]:
        decorated = [line for line in self.decorators() if not line.startswith("@dataclass")]
        name = self.pick(("ask", "x", "format", "register", "value", "items", "_y"))
        return [*decorated, f"def {name}(self, *p1):", *self.body("self, *p1")]

    # --- the whole ----------------------------------------------------------------------------------------------------

    def program(self) -> Text:
        lines: list[str] = []
        for _ in range(3 + self.below(6)):
            written = self.statement()
            if self.below(16):
                error = self.fresh()
                caught = [f"except Exception as {error}:", f"    print({error})", f"    {self.target()} = {error}"]
                written = ["try:", *("    " + line for line in written), *caught]
            lines += written
        bound = [name for name in self.scopes[0] if name not in SAMPLES]
        head = [f"{name} = {self.pick(list(SAMPLES))}" for name in dict.fromkeys(bound) if name[0] in "vg"]
        result = f"[{', '.join(bound[-9:])}]" if self.below(4) else self.expression()
        start = [line for line in PRELUDE.splitlines() if line] + _CLUSTER_LINES.splitlines()
        return Text("\n".join([*start, *head, *lines, result]), frozenset(self.used))


@st.composite
def programs(draw: st.DrawFn) -> Text:
    """Whole programs."""
    return Author(draw).program()
