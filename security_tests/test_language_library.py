"""Layer 1: no callable that a script can import sets, reads or calls a dunder name on the script's behalf.

Every exported callable, every method of a sample of each kind of object, and every subscription is given objects that
remember which underscored names were looked up on them, set or deleted. The table below is all there is. An attack
with `copy`, `dataclass` and `SimpleNamespace` once got from such a lookup to `eval`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import itertools
import re
import signal
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

import pytest

from kubescript.guest.sdk.objects import helpers
from kubescript_sandbox.language import compiler, reflection
from kubescript_sandbox.library import builtins, stdlib
from security_tests import reach
from security_tests.language import SAFE, evaluate, goes_on
from tests.kit import cases

pytestmark = pytest.mark.promise("L-03")

Count = Callable[[int], None]

SUBSCRIPTIONS: Final = {
    *("typing.*", "builtins.Dict", "builtins.List", "builtins.Tuple", "builtins.Optional"),
    "sample _*GenericAlias.copy_with",
}
LOOKED_UP: Final[dict[str, set[str]]] = {
    # `isinstance` and `issubclass` of whatever the library does with its arguments.
    "__class__": {"*"},
    "__bases__": {"builtins.isinstance", "builtins.issubclass"},
    # The listing of `dir` is filtered before a script sees it.
    "__dict__": {"builtins.dir"},
    # Texts, copied to a descriptor or function of the caller's own.
    "__annotations__": {"builtins.classmethod", "builtins.staticmethod"},
    "__module__": {"builtins.classmethod", "builtins.staticmethod"},
    "__qualname__": {"builtins.classmethod", "builtins.staticmethod"},
    "__name__": {
        *("builtins.classmethod", "builtins.staticmethod", "builtins.lru_cache", "functools.lru_cache"),
        *("functools.cache", "contextlib.contextmanager", "functools.wraps"),
    },
    "__doc__": {
        *("builtins.classmethod", "builtins.staticmethod", "builtins.property", "builtins.lru_cache"),
        *("functools.lru_cache", "functools.cache", "functools.cached_property", "contextlib.contextmanager", "functools.wraps"),
        "sample property.getter",
    },
    # The members of an enumeration, which `unique` only compares.
    "__members__": {"enum.unique"},
    # The type variables of a subscription; a script's own class cannot answer a dunder name (classes.Factory).
    "__parameters__": SUBSCRIPTIONS,
    "__typing_subst__": SUBSCRIPTIONS,
    "__typing_is_unpacked_typevartuple__": SUBSCRIPTIONS,
    # The parts of a network, from what is taken for one.
    "_prefixlen": {"ipaddress.collapse_addresses"},
    "_ip": {"sample IPv4Network.*"},
    "_version": {"sample IPv4Network.*"},
}  # fmt: skip
"""Name ▶ patterns of the callables that look it up on an object given to them. Nothing is ever set or deleted."""


class Spy:
    """Goes along with whatever it is asked for, and remembers the underscored names."""

    log: ClassVar[set[tuple[str, str]]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            Spy.log.add(("get", name))
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Spy()

    def __setattr__(self, name: str, value: object) -> None:
        Spy.log.add(("set", name))

    def __delattr__(self, name: str) -> None:
        Spy.log.add(("delete", name))

    def __iter__(self) -> Iterator[Any]:
        return iter([1])

    def __len__(self) -> int:
        return 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Spy()

    def __getitem__(self, key: object) -> Any:
        raise KeyError(key)

    def __index__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0

    def __str__(self) -> str:
        return "spy"

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False


ARGUMENTS: Final[list[Callable[[Any], tuple[Any, ...]]]] = [
    lambda spy: (spy,),
    lambda spy: (spy, spy),
    lambda spy: (spy, spy, spy),
    lambda spy: ("a", spy),
    lambda spy: (1, spy),
    lambda spy: (b"a", spy),
    lambda spy: ([spy],),
    lambda spy: ([spy, spy],),
    lambda spy: ([spy], spy),
    lambda spy: ({"a": spy},),
    lambda spy: (spy, [spy]),
    lambda spy: (spy, "a"),
    lambda spy: (len, [spy]),
    lambda spy: ((spy, spy),),
]


class TooLongError(BaseException):
    """A callable that would loop over its own endless product."""


def _callables() -> dict[str, Any]:
    """Everything that a script can call without having made it, by its path."""
    extra = {"k8s": reach.Handle(), **helpers.GLOBALS}
    scope: dict[str, Any] = builtins.build_globals(print_=reach.silent, extra=extra, importable={})
    found = {f"builtins.{name}": value for name, value in scope["__builtins__"].items() if not name.startswith("_")}
    for module, proxy in stdlib.MODULES.items():
        found |= {f"{module}.{name}": getattr(proxy, name) for name in dir(proxy)}
    samples: Any = compiler.run(compiler.compile_script(reach.SAMPLES), scope)
    for number, sample in enumerate(samples):
        for name in reflection.listing(sample):
            with contextlib.suppress(AttributeError):
                found[f"sample {number}: {type(sample).__name__}.{name}"] = reflection.get(sample, name)
    return {path: value for path, value in found.items() if callable(value) and not isinstance(value, Spy)}


def _provoke(value: Any, arguments: tuple[Any, ...]) -> None:
    """Calls it, goes on with what it gives, and subscribes it."""
    with contextlib.suppress(Exception, SystemExit):
        given = value(*arguments)
        if hasattr(type(given), "__next__"):
            list(itertools.islice(given, 5))
        elif callable(given) and not isinstance(given, type):
            given(Spy())
    with contextlib.suppress(Exception):
        value[arguments]


def _is_listed(path: str, name: str) -> bool:
    path = re.sub(r"^sample \d+: ", "sample ", path)
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in LOOKED_UP.get(name, ()))


def _too_long(*_: object) -> None:
    raise TooLongError


def test_no_callable_looks_up_a_dunder_name_but_the_listed_ones() -> None:
    """Whatever is called with whatever, no name is set, and only names of the table are read."""
    stdlib.warm()
    before = signal.signal(signal.SIGVTALRM, _too_long)
    unexpected, seen, count = [], set(), 0
    try:
        for path, value in sorted(_callables().items()):
            count += 1
            Spy.log = set()
            for make in ARGUMENTS:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
                with contextlib.suppress(TooLongError):
                    _provoke(value, make(Spy()))
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            for how, name in Spy.log:
                seen.add(name)
                if how != "get" or not _is_listed(path, name):
                    unexpected.append((path, how, name))
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert not unexpected
    assert count > 900
    assert seen >= {"__class__", "__doc__", "__members__"}  # the spies do see what happens


# --- what got through once --------------------------------------------------------------------------------------------

FAKE: Final = """
class Fake:
    def _create_cb_wrapper(self, *values): return json.dumps
    def _push_exit_callback(self, *values): pass
"""
SPY: Final = """
got = []
class Spy:
    def __eq__(self, other):
        got.append(other)
        return True
    def __hash__(self): return hash(contextlib.ExitStack.callback)
    def __radd__(self, other):
        got.append(other)
        return 1
"""
SHARED: Final = """
class Text:
    def expandtabs(self, size): return self
    def translate(self, table):
        table[97] = "INJECTED"
        return "x"
"""

KIND: Final = """
class Kind(str):
    asked = []
    def __hash__(self): return str.__hash__(self)
    def __eq__(self, other):
        if str.__eq__(self, other): Kind.asked.append(other)
        return str.__eq__(self, other) and len(Kind.asked) > 1
class Coder:
    def __init__(self, **options): pass
    def encode(self, value): return "x"
    def decode(self, text): return "x"
"""

ESCAPES: Final = {
    "namespace-dunder": "import types\ntypes.SimpleNamespace(**{'__reduce_ex__': lambda *a: 'x'})",
    # A str of the script's own kind as the name of a keyword. Each worked once.
    "namespace-dunder-kind": "class S(str):\n    def startswith(self, *_): return False\ntypes.SimpleNamespace(**{S('__mro_entries__'): len})",
    "option-kind": KIND + "json.dumps({}, **{Kind('cls'): Coder})",
    "option-kind-loads": KIND + "json.loads('{}', **{Kind('cls'): Coder})",
    "option-kind-field": KIND + "dataclasses.field(**{Kind('init'): True})",
    "namespace-guard": "import types\ntypes.SimpleNamespace(**{'_getattr_': 1})",
    "namespace-by-json": "json.loads('{\"__deepcopy__\": 1}', object_hook=lambda d: types.SimpleNamespace(**d))",
    "format-of-a-class": "from typing.Text import format as f\nf('{0._secret}', k8s)",
    "format-of-a-class-as": "import typing.Text.format as f\nf('{0._secret}', k8s)",
    "member-of-a-class": "from datetime.datetime import now",
    "member-of-a-value": "from os.environ import get",
    "super-of-a-proxy": "super(type(json), json).__init__()",
    "super-of-an-error": "super(type(k8s), k8s).__init__({'token': 1})",
    "abstract-host": "from abc import abstractmethod\nabstractmethod(k8s)",
    "annotated-call": "import typing\ntyping.Annotated[k8s.ask, 1]().__orig_class__",
    "getattr-object": "class A:\n    __getattr__ = k8s",
    "getattr-partial": "import functools\nclass A:\n    __getattr__ = functools.partial(print)",
    "protocol-flag": "class P(typing.Protocol):\n    _is_runtime_protocol = True\n    _secret: dict\nisinstance(k8s, P)",
    "enum-members-store": "import enum\nclass A(enum.Enum):\n    X = 1\nsetattr(A, '__members__', {})",
    # Types that `type(x)` gives, and that nobody could name.
    "make-alias": "type(list[int])(lambda: json.dumps, int)()",
    "make-typing-alias": "type(typing.List[int])(lambda: json.dumps, (int,), name='x')()",
    "make-alias-of-error": "try:\n    k8s.fail()\nexcept AttributeError as e:\n    x = type(list[int])(e, int).obj",
    "make-method": "class A:\n    def f(self): pass\ntype(A().f)(collections.abc.Mapping, 1).register(A)",
    "make-module": "type(json)('x', {'__deepcopy__': lambda memo: 1})",
    "make-host": "type(k8s)()",
    "make-field": "type(dataclasses.field())(1, 2, 3, 4, 5, 6, 7, 8)",
    # Methods and properties of the library with a `self` of the script's.
    "unbound": FAKE + "contextlib.ExitStack.callback(Fake(), 1)",
    "unbound-getattr": FAKE + "getattr(contextlib.ExitStack, 'callback')(Fake(), 1)",
    "unbound-super": FAKE + "super(contextlib.ExitStack, contextlib.ExitStack).callback(Fake(), 1)",
    "unbound-alias": "typing.Counter.most_common(k8s)",
    "unbound-c-alias": "from collections import UserDict\nUserDict[str, int].copy(k8s)",
    "unbound-init": "from collections import UserDict\nclass U(UserDict): pass\nU.__init__(fractions.Fraction)",
    "unbound-init-function": "from collections import UserDict\nclass U(UserDict): pass\nU.__init__(json.dumps)",
    "unbound-init-maps": "class C(collections.ChainMap): pass\nC.__init__(fractions.Fraction, {})",
    "unbound-in-class": "class U(collections.abc.Mapping): pass\nclass A:\n    f = U.get\nA().f('x')",
    "unbound-partial": FAKE + "functools.partial(contextlib.ExitStack.callback, Fake(), 1)()",
    "unbound-augmented": SPY + "from collections import UserDict\nclass U(UserDict): pass\nU.copy += Spy()",
    "unbound-pattern": FAKE + SPY + "match Spy():\n    case contextlib.ExitStack.callback: pass\ngot[0](Fake(), 1)",
    "unbound-pattern-key": FAKE + SPY + "match {Spy(): 1}:\n    case {contextlib.ExitStack.callback: 1}: pass\ngot[0](Fake(), 1)",
    "unbound-field": "from collections import UserDict\n@dataclass\nclass U(UserDict):\n    __init__: object\ndataclasses.fields(U)[0].default(json.dumps)",
    "unbound-field-behind": "class Own(abc.ABC): copy = 1\n@dataclass\nclass U(collections.UserDict, Own):\n    copy: object\ndataclasses.fields(U)[0].default(json.dumps)",
    "unbound-field-deleted": "def make(cls):\n    if 'copy' in done: del U.copy\n    return 1\nclass U(collections.UserDict):\n    a: object = classmethod(property(make))\n    copy: object = 1\ndone = ['copy']\ndataclass(U)\ndataclasses.fields(U)[1].default",
    "unbound-augmented-behind": SPY + "class Own(abc.ABC): copy = 1\nclass U(collections.UserDict, Own): pass\nU.copy += Spy()",
    "field-mro": "@dataclass\nclass E(Exception):\n    mro: object\ndataclasses.fields(E)[0].default()",
    "field-registry": "import abc\n@dataclass\nclass A(abc.ABC):\n    _abc_impl: object\ndataclasses.fields(A)[0].default",
    "property": "ipaddress.IPv4Address.is_private.fget(k8s)",
    "property-in-class": "class A:\n    p = ipaddress.IPv4Address.is_private\nA().p",
    "cached-property": "ipaddress.IPv4Network.broadcast_address.func(k8s)",
    # Code that the library writes into a class of the script's, with a `self` of another kind. Worked once, up to `eval` in a field's name.
    "generated-init": "@dataclass\nclass A:\n    x: object\nA.__init__(fractions.Fraction, 1)",
    "generated-init-frozen": "@dataclass(frozen=True)\nclass A:\n    dumps: object\nA.__init__(json, len)",
    "generated-init-private": "@dataclass\nclass A:\n    _secret: object\nA.__init__(k8s, 1)",
    "generated-init-super": "@dataclass\nclass A:\n    x: int\nclass B(A): pass\nsuper(B, B).__init__(json.dumps, 1)",
    "generated-init-getattr": "@dataclass\nclass A:\n    x: int\ngetattr(A, '__init__')(json.dumps, 1)",
    "generated-init-in-class": "@dataclass\nclass A:\n    x: int\nclass B:\n    f = staticmethod(A.__init__)\nB.f(json.dumps, 1)",
    "generated-field-name": "@dataclass\nclass B:\n    x: int\n@dataclass\nclass N:\n    name: str\nN.__init__(dataclasses.fields(B)[0], 'x + eval(1)')\n@dataclass(init=False, eq=False)\nclass D(B): pass\nrepr(D())",
    "generated-repr": "@dataclass\nclass A:\n    _secret: object\nA.__repr__(k8s)",
    "generated-repr-default": "@dataclass\nclass A:\n    _secret: object = 1\n@dataclass(repr=False)\nclass B(A):\n    __repr__: object\ndataclasses.fields(B)[1].default(k8s)",
    "generated-eq": "@dataclass\nclass A:\n    _secret: object\nA.__eq__(k8s, k8s)",
    "generated-hash": "@dataclass(frozen=True)\nclass A:\n    ask: object\nA.__hash__(k8s)",
    "generated-order": "@functools.total_ordering\nclass A:\n    def __lt__(self, other): return True\nA.__gt__(k8s, 1)",
    "generated-protocol": "class P(typing.Protocol):\n    x: int\nP.__init__(json)",
    "generated-flag": "import enum\nclass F(enum.Flag):\n    A = 1\nF.__or__(k8s, F.A)",
    # Free names of the code that `dataclass` writes. The first got the builtin `eval`, once, the second a module.
    "generated-free-name": "@dataclass\nclass A:\n    eval: dataclasses.InitVar[int] = dataclasses.field(init=False)\n    def __post_init__(self, found): self.found = found\nA()",
    "generated-free-module": "@dataclass\nclass A:\n    typing: dataclasses.InitVar[int] = dataclasses.field(init=False)\n    def __post_init__(self, found): self.found = found\nA()",
    "generated-free-type": "@dataclass\nclass A:\n    type: dataclasses.InitVar[int] = dataclasses.field(init=False)\n    def __post_init__(self, found): found('X', (), {})\nA()",
    "generated-bound-to-another": "@dataclass\nclass A:\n    x: int\n@dataclass\nclass B:\n    x: int\nA.__init__(B(1), 2)",
    "generated-of-a-base": "class Base: pass\n@dataclass\nclass A(Base):\n    x: int\nA.__init__(Base(), 2)",
    "generated-frozen-set": "@dataclass(frozen=True)\nclass A:\n    x: int\nA.__setattr__(k8s, 'x', 1)",
    "generated-record": "@dataclass\nclass A:\n    x: int\nA.__record__",
    "generated-record-store": "class A:\n    __record__ = 1",
    "generated-record-setattr": "class A: pass\nsetattr(A, '__record__', 1)",
    "field-read": "@dataclass\nclass A:\n    x: int\ndataclasses.fields(A)[0]._read(k8s, '_secret')",
    "field-store": "@dataclass\nclass A:\n    x: int\ndataclasses.fields(A)[0].name = '_secret'",
    "field-init": "dataclasses.field().__init__('x', int, {})",
    "field-method": "@dataclass\nclass A:\n    __call__: object = 1\nA(2)",
    "field-text": "@dataclass\nclass A:\n    __doc__: object = 1\nA(2)",
    "field-option": "dataclasses.field(_read=k8s)",
    "field-default-obj": "@dataclass\nclass E(AttributeError):\n    obj: object = None\nE().obj",
    "tuple-new": "P = namedtuple('P', 'a')\nP.__new__(k8s)",
    "tuple-replace": "P = namedtuple('P', 'a')\nP._replace(k8s, a=1)",
    "tuple-asdict": "class P(NamedTuple):\n    a: int\nP._asdict(k8s)",
    "tuple-repr": "P = namedtuple('P', 'a')\nP.__repr__(k8s)",
    "tuple-getter": "P = namedtuple('P', 'a')\nP.a.__get__(k8s)",
    "tuple-make": "class P(NamedTuple):\n    a: int\n    _make = 1",
    "tuple-attribute": "P = namedtuple('P', 'a')\nP._fields = ('b',)",
    # Registries and flags of metaclasses.
    "register-alias": "typing.Mapping.register(int)",
    "register-c-alias": "collections.abc.Mapping[str, int].register(int)",
    "register-subclass": "class A(collections.abc.Mapping): pass\nA.register(int)",
    "register-subclass-super": "class A(collections.abc.Mapping): pass\nclass B(A): pass\ngetattr(B, 'register')(int)",
    "registry-dump": "import abc\nclass A(abc.ABC): pass\nA._dump_registry()",
    "registry-dump-getattr": "import abc\nclass A(abc.ABC): pass\ngetattr(A, '_dump_registry')()",
    "registry-clear": "import abc\nclass A(abc.ABC): pass\nA._abc_registry_clear()",
    "protocol-flag-late": "class P(typing.Protocol):\n    _secret: dict\nP._is_runtime_protocol = True\nisinstance(k8s, P)",
    "protocol-flag-setattr": "class P(typing.Protocol):\n    _secret: dict\nsetattr(P, '_is_protocol', False)\nisinstance(k8s, P)",
    # The object that lacks an attribute.
    "obj-descriptor": "class E(AttributeError):\n    o = AttributeError.obj",
    "obj-class": "class E(AttributeError):\n    obj = None",
    "obj-late": "class E(AttributeError): pass\nE.obj = 1",
    "obj-delete": "class E(AttributeError): pass\ndel E.obj",
    "obj-super": "@dataclass(frozen=True)\nclass A: x: int = 1\nclass B:\n    def __getattr__(self, name): A().x = 3\ntry:\n    B().y\nexcept AttributeError as e:\n    x = super(dataclasses.FrozenInstanceError, e).obj",
    "obj-field": "@dataclass(init=False)\nclass E(AttributeError):\n    obj: object",
    # What the library shares among all who ask.
    "shared-translation": SHARED + "textwrap.wrap(Text())",
    "shared-set": "hashlib.algorithms_guaranteed.add('x')",
    "shared-zone": "class S(str):\n    def __hash__(self): return hash('Europe/Berlin')\n    def __eq__(self, other): return other in ('UTC', 'Europe/Berlin')\nZoneInfo(S('UTC'))",
    "shared-method": "class Spy:\n    def __call__(self, *_): return 'x' * 100\n    def __hash__(self): return 1\n    def __eq__(self, method): return True\nclass A:\n    __repr__ = Spy()\npprint.pformat(A())",
    "shared-method-class": "from typing import NamedTuple\nclass Spy(NamedTuple):\n    a: int = 1\nclass A:\n    __repr__ = Spy\npprint.pformat(A())",
    "shared-method-partial": "class A:\n    __eq__ = functools.partial(print, 1)\nA() == 1",
    "copy-host": "copy.copy(k8s)",
    "deepcopy-host": "copy.deepcopy([k8s])",
    "copy-generator": "copy.copy(x for x in [1])",
    "replace-memo": "copy.deepcopy([], {})",
}  # fmt: skip

DATACLASS: Final = """
import copy, dataclasses, types
class A:
    x: int
held = types.SimpleNamespace(a=1)
try:
    held = types.SimpleNamespace(**{"__reduce_ex__": lambda protocol: (lambda: A, (), {"__annotations__": {
        "f, self.f(eval), self.f(__import__)": int}})})
except TypeError:
    pass
copy.copy(held)
dataclasses.dataclass(A)
[f.name for f in dataclasses.fields(A)] == ["x"] and 'safe'
"""

HOOKS: Final = """
import copy
asked = []
class A:
    def __getattr__(self, name):
        asked.append(name)
        return lambda *values: asked.extend(values)
copy.deepcopy([A(), {"a": A()}])
copy.copy(A())
class B(typing.Generic[typing.TypeVar("T")]): pass
try:
    class C(A()): pass
except TypeError:
    pass
list(itertools.tee(iter([A()])))
typing.Union[int, A()] if False else None
next(iter([A()]))
'safe' if not [name for name in asked if str(name).startswith("_")] else asked
"""

MEMBERS: Final = """
class Spy:
    def __ror__(self, other):
        other["INJECTED"] = 1
        return other
    def __eq__(self, other):
        other["INJECTED"] = 1
        return True
re.RegexFlag.__members__ | Spy()
try:
    re.RegexFlag.__members__ == Spy()
except TypeError:
    pass
'safe' if "INJECTED" not in re.RegexFlag.__members__ else 'leak'
"""

PROXIES: Final = """
class Spy:
    def __ror__(self, other):
        other["INJECTED"] = 1
        return other
pattern, data = re.compile("(?P<n>a)"), {"a": 1}
fields = urllib.parse.ParseResult._field_defaults
fields["INJECTED"] = 1
for proxy in (dataclasses.field().metadata, pattern.groupindex, data.keys().mapping, data.items().mapping):
    assert "INJECTED" in proxy | Spy()
'safe' if not {"INJECTED"} & {*dataclasses.field().metadata, *pattern.groupindex, *data, *urllib.parse.ParseResult._field_defaults} else 'leak'
"""

SIGNATURE: Final = """
class Falsy(str):
    def __bool__(self): return False
    def __len__(self): return 0
class B:
    "B(x=sys.executable, y=typing.sys.version)\\n--\\n\\n"
@dataclass(init=False)
class A(B): pass
@dataclass(init=False)
class C:
    __doc__ = Falsy("C(x=sys.executable)\\n--\\n\\n")
@dataclass(init=False, slots=True)
class D(B): pass
'safe' if [A.__doc__, D.__doc__] == [None, None] and C.__doc__.startswith("C(") else [A.__doc__, C.__doc__, D.__doc__]
"""

CHANGING: Final = """
asked = []
def doc(cls):
    asked.append(1)
    return "x" if len(asked) < 3 else ""
class B:
    "B(x=sys.executable, y=os.name)\\n--\\n\\n"
class A(B):
    __doc__ = classmethod(property(doc))
dataclass(init=False)(A)
class Flag:
    def __init__(self): self.answers = [False, False, False]
    def __bool__(self): return self.answers.pop() if self.answers else True
flag = Flag()
@dataclass
class C:
    eval: int = dataclasses.field(init=flag)
    zip: int = dataclasses.field(default=1, kw_only=flag)
late = Flag()
late.answers = [False, True]
@dataclass(kw_only=late)
class D:
    zip: int
D(zip=2)
'safe' if not asked and len(flag.answers) == 1 and C(zip=2).zip == 2 else [asked, flag.answers]
"""
"""A docstring and an option that answer differently each time. Each worked once."""

HESITANT: Final = """
class Flag:
    def __init__(self): self.asked = 0
    def __bool__(self):
        self.asked += 1
        return self.asked > 1
class Name(str):
    def __eq__(self, other): return True
    def __hash__(self): return hash("x")
    def __repr__(self): raise ValueError(self)
flags = [Flag() for _ in range(12)]
init, repr_, eq, order, unsafe_hash, frozen, kw_only, rename, *of_field = flags
class A:
    x: int = dataclasses.field(default=1, init=of_field[0], repr=of_field[1], compare=of_field[2], hash=of_field[3])
dataclass(init=init, repr=repr_, eq=eq, order=order, unsafe_hash=unsafe_hash, frozen=frozen, kw_only=kw_only)(A)
@dataclass
class B:
    x: int
    y: int = 0
P = namedtuple("P", "a")
try:
    namedtuple("Q", "a _b", rename=rename)
    found = ["leak"]
except ValueError:
    found = []
found += [b.x for b in [B(**{Name("z"): 5})]] + [P(**{"a": 1}).a]
for wrong in (lambda: B(1, **{Name("z"): 5}), lambda: B(**{Name("z"): 1, "y": 2, "q": 3}), lambda: P(1, **{Name("q"): 1})):
    try:
        found.append(wrong())
    except (TypeError, ValueError):
        pass
'safe' if {flag.asked for flag in flags} == {1} and found == [5, 1] else [[flag.asked for flag in flags], found]
"""
"""Options that answer differently each time, and names of arguments that are equal to every name."""

OVERWRITE: Final = """
import copy, types
evil = lambda *a, **k: "evil"
class State:
    def __getattr__(self, name):
        return lambda *a: (lambda: json, (), {"loads": evil})
for make in (lambda: copy.copy(State()), lambda: copy.deepcopy([State()])):
    make()
'safe' if json.loads("1") == 1 else 'leak'
"""


ESCAPE: Final = """
class S(str):
    def translate(self, table):
        table[ord("a")] = "INJECTED"
        return "x"
re.escape(S("a"))
textwrap.fill(S("a"))
'safe' if re.escape("banana") == "banana" and textwrap.fill("aa") == "aa" else 'leak'
"""

TEXTS: Final = """
class S(str):
    def translate(self, table):
        table[ord("b")] = "INJECTED"
        return "x"
    def __getitem__(self, place): return S("b")
    def __iter__(self): return iter([S("b")])
    def __len__(self): return 1
    def encode(self, *options): return B(b"b")
class B(bytes):
    def rstrip(self, *known): return True
    def __iter__(self): return iter([Slash(47)])
class Slash(int):
    def __index__(self): return 46
    def __format__(self, spec): return "INJECTED"
class Key:
    def __str__(self): return S("b")
class Pattern:
    def __len__(self): return 1
    def __getitem__(self, place): return S("b")
for match in (fnmatch.fnmatch, fnmatch.fnmatchcase, lambda _, pat: fnmatch.translate(pat)):
    try:
        match("a", Pattern())
    except TypeError:
        pass
fnmatch.filter(["a"], S("b"))
fnmatch.translate(S("b"))
for attempt in (
    lambda: urllib.parse.quote_from_bytes(B(b"x"), safe=""), lambda: urllib.parse.quote(S("x"), safe=""),
    lambda: urllib.parse.quote_plus(S("x")), lambda: urllib.parse.urlencode({Key(): Key()}),
):
    try:
        attempt()
    except (TypeError, ValueError, AttributeError):
        pass
found = [re.escape("banana"), urllib.parse.quote("a/b", safe=""), urllib.parse.quote_plus("a/b")]
'safe' if found == ["banana", "a%2Fb", "a%2Fb"] else found
"""
"""Texts whose methods and characters are the script's. Each worked once."""

OBJ: Final = """
class Mixin:
    obj = 1
class E(Mixin, AttributeError):
    def peek(self): return super().obj
class Holder:
    def __getattr__(self, name): raise E(name)
try:
    Holder().x
except E as error:
    found = [*vars(error).values(), error.peek(), super(Mixin, error).name]
'safe' if found == [1, "x"] or found == [None, "x"] else found
"""


def raises(attack: str) -> None:
    outcome, detail = evaluate(attack)
    assert outcome in {"raised", "refused"}, (outcome, detail)
    assert reach.SECRET not in str(detail)
    assert goes_on()


def test_the_attack_raises_and_the_next_script_works(attacks: Count) -> None:
    """A dunder name is neither set, read nor called for a script, nor anything fetched past the guards."""
    attacks(len(ESCAPES))
    cases.check(ESCAPES, raises)


HARMLESS: Final = {
    "dataclass": DATACLASS, "hooks": HOOKS, "members": MEMBERS, "proxies": PROXIES, "signature": SIGNATURE, "changing": CHANGING,
    "hesitant": HESITANT, "overwrite": OVERWRITE, "escape": ESCAPE, "texts": TEXTS, "obj": OBJ,
}  # fmt: skip


def gets_nothing(attack: str) -> None:
    assert evaluate(attack) == ("value", SAFE)
    assert goes_on()


def test_the_attack_gets_nothing(attacks: Count) -> None:
    """The script ran to its end and found that it had got nothing."""
    attacks(len(HARMLESS))
    cases.check(HARMLESS, gets_nothing)


METHODS: Final = """
@dataclass(order=True)
class Ordered:
    _secret: object = None
@dataclass(frozen=True)
class Frozen:
    _secret: object = None
class Other:
    _secret = 1
[Ordered, Frozen, Other]
"""


def test_a_made_method_acts_on_objects_of_its_class_only() -> None:
    """Also when it is called past the guards, which let no script call it with another `self`."""
    _, (ordered, frozen, other) = evaluate(METHODS)
    handle = reach.Handle()
    for cls in (ordered, frozen):
        made = {name: each for name, each in vars(cls).items() if type(each) is types.FunctionType}
        assert {"__init__", "__repr__", "__eq__"} <= made.keys()
        for name, method in made.items():
            given: dict[str, list[Any]] = {
                "__setattr__": ["x", 1],
                "__delattr__": ["x"],
                "__hash__": [],
                "__repr__": [],
            }
            for stranger in (handle, other(), cls, types, "text"):
                with pytest.raises(TypeError, match=rf"'{name}' of {cls.__name__} doesn't apply to"):
                    method(stranger, *given.get(name, [handle]))
    assert handle._secret == reach.Handle()._secret
    assert goes_on()


def as_in_python(imports: str, case: tuple[str, object]) -> None:
    script, value = case
    assert evaluate(f"{imports}\n{script}") == ("value", value)


COPIES: Final = {
    "json": ("a = {'x': [1, {'y': (2, [3])}]}\nb = copy.deepcopy(a)\nb['x'][1]['y'][1].append(4)\n[a, b]", [{"x": [1, {"y": (2, [3])}]}, {"x": [1, {"y": (2, [3, 4])}]}]),
    "shared": ("a = [1]\nb = copy.deepcopy([a, a])\nb[0] is b[1] and b[0] is not a", True),
    "cycle": ("a = []\na.append(a)\nb = copy.deepcopy(a)\nb[0] is b and b is not a", True),
    "object": ("class A:\n    def __init__(self): self.x = [1]; self._y = 2\na = A()\nb, c = copy.deepcopy(a), copy.copy(a)\n[b.x, b.x is a.x, c.x is a.x, b._y]", [[1], False, True, 2]),
    "object-cycle": ("class A: pass\na = A()\na.me = a\nb = copy.deepcopy(a)\nb.me is b", True),
    "dict-class": ("class D(dict): pass\nd = D(a=[1])\nd.x = 1\ne = copy.deepcopy(d)\ne['a'].append(2)\n[dict(d), dict(e), e.x, type(e) is D]", [{"a": [1]}, {"a": [1, 2]}, 1, True]),
    "slots": ("@dataclass(slots=True, frozen=True)\nclass P:\n    x: list\np = P([1])\nq = copy.deepcopy(p)\n[q == p, q.x is p.x]", [True, False]),
    "collections": ("from collections import *\nd = defaultdict(list, a=[1])\no = OrderedDict(b=1, a=2)\no.move_to_end('b')\n[copy.deepcopy(d)['z'], list(copy.copy(o)), copy.copy(deque([1, 2], 2)).maxlen, copy.copy(Counter('aab'))['a']]".replace("from collections import *", "from collections import defaultdict, OrderedDict, deque, Counter"), [[], ["a", "b"], 2, 2]),
    "user-dict": ("from collections import UserDict\nu = UserDict(a=[1])\nv = copy.copy(u)\nv['b'] = 2\n[dict(u), dict(v)]", [{"a": [1]}, {"a": [1], "b": 2}]),
    "namedtuple": ("P = namedtuple('P', 'x y')\np = P([1], 2)\nq = copy.deepcopy(p)\n[q.x, q.x is p.x, type(q) is P]", [[1], False, True]),
    "namespace": ("n = types.SimpleNamespace(a=[1], _b=2)\nm = copy.deepcopy(n)\n[m.a is n.a, m._b if False else m.a, repr(n)]", [False, [1], "namespace(a=[1], _b=2)"]),
    "unchanging": ("import datetime, decimal\nx = [1, 'a', None, datetime.date(2026, 1, 1), decimal.Decimal(1), len, int]\n[a is b for a, b in zip(x, copy.deepcopy(x))]", [True] * 7),
    "error": ("class E(Exception): pass\ne = copy.copy(E('x', 1))\n[e.args, type(e) is E]", [("x", 1), True]),
    "enum": ("class C(Enum):\n    A = 1\ncopy.deepcopy([C.A])[0] is C.A", True),
}  # fmt: skip


def test_copies_are_what_python_makes(attacks: Count) -> None:
    """copy and deepcopy of data and of the script's own objects work as in Python."""
    attacks(len(COPIES))
    cases.check(COPIES, functools.partial(as_in_python, "import copy, types"))


WRAPPERS: Final = {
    "cache": ("calls = []\n@cache\ndef f(x):\n    'twice'\n    calls.append(x)\n    return x * 2\n[f(2), f(2), calls, f.cache_info().hits, f.__name__, f.__doc__]", [4, 4, [2], 1, "f", "twice"]),
    "lru-cache": ("@functools.lru_cache(maxsize=1)\ndef f(x): return x\n[f(1), f(2), f.cache_info().currsize]", [1, 2, 1]),
    "cache-of-a-builtin": ("f = cache(len)\n[f('abc'), f.__name__]", [3, "len"]),
    "cache-of-a-method": ("class A:\n    @cache\n    def f(self): return 1\nA().f()", 1),
    "recursion": ("@cache\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(90)", 2880067194370816120),
    "context": ("from contextlib import contextmanager\nlog = []\n@contextmanager\ndef c(x):\n    log.append('in')\n    try:\n        yield x\n    finally:\n        log.append('out')\nwith c(1) as v: log.append(v)\nlog", ["in", 1, "out"]),
    "context-swallows": ("from contextlib import contextmanager\n@contextmanager\ndef c():\n    try:\n        yield\n    except ValueError:\n        pass\nwith c(): raise ValueError\n'on'", "on"),
    "context-raises": ("from contextlib import contextmanager\n@contextmanager\ndef c(): yield\ntry:\n    with c(): raise StopIteration('x')\nexcept StopIteration as e:\n    r = str(e)\nr", "x"),
    "context-decorates": ("from contextlib import contextmanager\nlog = []\n@contextmanager\ndef c():\n    log.append(1)\n    yield\n@c()\ndef f(x): return x\n[f(2), f(3), log]", [2, 3, [1, 1]]),
    "abstract": ("from abc import ABC, abstractmethod\nclass A(ABC):\n    @property\n    @abstractmethod\n    def x(self): ...\nclass B(A):\n    x = 1\ntry:\n    A()\nexcept TypeError:\n    r = B().x\nr", 1),
    "annotated": ("from typing import Annotated\n@dataclass\nclass A:\n    x: Annotated[int, 'why'] = 1\nA().x", 1),
    "getattr": ("class A:\n    def __getattr__(self, name): return name * 2\n[A().ab, getattr(A(), 'c'), hasattr(A(), '__iter__')]", ["abab", "cc", False]),
}  # fmt: skip


def test_wrappers_are_what_python_has(attacks: Count) -> None:
    """Caches, context managers and abstract methods work as in Python."""
    attacks(len(WRAPPERS))
    cases.check(WRAPPERS, functools.partial(as_in_python, "import functools\nfrom functools import cache"))


READS: Final = {
    "type-of-a-stranger": ("[type(k8s) is type(k8s), type(k8s).__name__, isinstance(k8s, type(k8s)), isinstance(1, type(k8s)), type({}.keys()) == type({}.keys()), issubclass(type(k8s), object)]", [True, "Handle", True, False, True, True]),
    "type-of-a-friend": ("P = namedtuple('P', 'a')\nclass C(Counter): pass\n[type(x)(x) == x for x in ['a', 1, [1], {1: 2}, C('aab'), frozenset([1])]] + [type(P(1))(2).a, type(ValueError('x'))('y').args]", [*[True] * 6, 2, ("y",)]),
    "unbound": ("from collections import UserDict\nclass C(Counter):\n    def __init__(self, *a): Counter.__init__(self, *a)\nclass M(UserDict): pass\n[C.most_common(C('aab'), 1), list(map(Counter.most_common, [Counter('aa')])), M.get(M(a=1), 'a')]", [[("a", 2)], [[("a", 2)]], 1]),
    "static": ("class A:\n    f = staticmethod(json.dumps)\n    g = json.dumps\n[A.f([1]), A.g([1]), A().f([2])]", ["[1]", "[1]", "[2]"]),
    "alias": ("T = typing.TypeVar('T')\nclass Stack(typing.Generic[T]):\n    n = 3\n    @classmethod\n    def make(cls): return cls()\n    def f(self): return 7\n[Stack[int].n, Stack[int].make().f(), Stack[int]().f(), typing.List.__name__]", [3, 7, 7, "List"]),
    "register": ("import abc\nclass A(abc.ABC): pass\nclass B: pass\nA.register(B)\nisinstance(B(), A)", True),
    "pattern": ("class C(Enum):\n    RED = 1\n    BLUE = 2\nclass cfg: x = 5; k = 'a'\nfound = []\nfor v in [C.RED, C.BLUE, 5, {'a': 7}]:\n    match v:\n        case C.RED: found.append('red')\n        case C.BLUE | 9: found.append('blue')\n        case cfg.x: found.append('five')\n        case {cfg.k: z}: found.append(z)\nfound", ["red", "blue", "five", 7]),
    "augmented": ("calls = []\nclass B:\n    m = 1\nclass A(B):\n    n = 0\n    def __init__(self): self.x = 1; self._y = 2\n    @property\n    def p(self): calls.append('get'); return 1\n    @p.setter\n    def p(self, v): calls.append(v)\na = A()\ndef g(): calls.append('g'); return a\ng().x += 1; a._y *= 3; a.p += 1; A.n += 4; A.m += 1\n[a.x, a._y, A.n, A.m, B.m, calls]", [2, 6, 4, 2, 1, ["g", "get", 2]]),
    "attribute-error": ("class E(AttributeError):\n    def __init__(self, text, obj):\n        super().__init__(text)\n        self.obj = obj\ntry:\n    raise E('x', 1)\nexcept AttributeError as e:\n    r = str(e)\nr", "x"),
    "generated": ("@dataclass(order=True, frozen=True)\nclass A:\n    x: int\n@dataclass(frozen=True)\nclass B(A):\n    y: int = 0\n    def __post_init__(self): A.__init__(self, 7)\n[repr(B(1)), A.__eq__(A(1), A(1)), A.__repr__(B(1)), sorted([A(2), A(1)], key=functools.cmp_to_key(lambda a, b: A.__lt__(b, a) - A.__lt__(a, b)))[0].x, A.__doc__]", ["B(x=7, y=0)", True, "B(x=7)", 1, None]),
    "patterns": ("[fnmatch.filter(names=['ab', 'c'], pat='a*'), fnmatch.fnmatch('a', pat='b'), urllib.parse.quote(string='a/b', safe=''), urllib.parse.urlencode({'a b': [1, 'c/d']}, True)]", [["ab"], False, "a%2Fb", "a+b=1&a+b=c%2Fd"]),
    "dataclass": ("@dataclass(frozen=True, order=True)\nclass A:\n    x: int\n    y: 'dataclasses.InitVar[int]' = 2\n    z: 'typing.ClassVar' = 1\n    w: list = dataclasses.field(default_factory=list, compare=False)\ntry:\n    A(1).x = 2\nexcept dataclasses.FrozenInstanceError:\n    r = [repr(A(1)), hash(A(1)) == hash(A(1)), A(1) < A(2), A(1) == 5]\nr", ["A(x=1, w=[])", True, True, False]),
    "fields": ("@dataclass\nclass E(Exception):\n    message: str\n@dataclass\nclass C:\n    items: list\n    copy: int = 0\n[E('x').message, C([1]).items, C([]).copy]", ["x", [1], 0]),
}  # fmt: skip


def test_what_scripts_do_with_types_is_as_in_python(attacks: Count) -> None:
    """Types, methods read from classes, patterns and augmented assignments work as in Python."""
    attacks(len(READS))
    cases.check(READS, functools.partial(as_in_python, "from collections import Counter"))


def test_a_failure_with_a_hostile_message_is_told() -> None:
    """An exception's `__str__` may give a str of its own kind, whose methods are the script's. It once ended the
    worker."""
    script = "class S(str):\n    def __add__(self, other): return 5\n    def __getitem__(self, key): return 5\n    def __len__(self): return 9999\nclass X(Exception):\n    def __str__(self): return S('hi')\nraise X()"  # fmt: skip
    program = compiler.compile_script(script)
    with pytest.raises(Exception, match="hi") as caught:
        compiler.run(program, builtins.build_globals(print_=reach.silent, extra={}, importable={}))
    assert compiler.describe_failure(caught.value)[:2] == ("X", "hi")
    assert goes_on()
