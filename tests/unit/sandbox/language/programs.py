"""Programs in plain Python, each with its value."""

from __future__ import annotations

from kubescript_sandbox.language import compiler


class Replicas:
    """An object of the SDK that scripts may change."""

    _guarded_writes = True
    replicas = 1


PROGRAMS: dict[str, tuple[str, object]] = {
    "arithmetic": ("1 + 2 * 3 ** 2 // 4 % 5 - -1", 1 + 2 * 3**2 // 4 % 5 - -1),
    "augmented-item": ("d = {'a': 1}\nd['a'] += 2\nd", {"a": 3}),
    "augmented-default": (
        "from collections import defaultdict\nd = defaultdict(int)\nfor w in 'a b a'.split(): d[w] += 1\ndict(d)",
        {"a": 2, "b": 1},
    ),
    "augmented-nested": ("d = {'a': {'b': 1}}\nd['a']['b'] |= 6\nd", {"a": {"b": 7}}),
    "augmented-slice": ("x = [1, 2, 3]\nx[0:1] += [9]\nx[::2] *= 1\nx", [1, 9, 2, 3]),
    "augmented-attribute": ("class A: n = 1\na = A()\na.n += 1\na.n, A.n", (2, 1)),
    "augmented-once": (
        "calls = []\ndef f(x):\n    calls.append(x)\n    return x\nd = {1: 1}\nf(d)[f(1)] += f(5)\nlen(calls), d",
        (3, {1: 6}),
    ),
    "augmented-name": ("x = [1]\ny = x\nx += [2]\ny", [1, 2]),
    "annotated": ("x: int = 1\ny: list[int]\ndef f():\n    z: int = 2\n    return z\nx + f()", 3),
    "delete": ("d = {1: 2, 3: 4}\ndel d[1]\nx = 1\ndel x\nd", {3: 4}),
    "unpack": ("a, *b, (c, d) = [1, 2, 3, (4, 5)]\n[x, y] = a, b\n(a, b, c, d, x, y)", (1, [2, 3], 4, 5, 1, [2, 3])),
    "unpack-chain-once": (
        "n = []\ndef f():\n    n.append(1)\n    return 1, 2\na, b = c = f()\nlen(n), a, c",
        (1, 1, (1, 2)),
    ),
    "for-unpack": ("[(k, a, b) for k, (a, b) in {'x': (1, 2)}.items()]", [("x", 1, 2)]),
    "for-else": ("for i in range(3):\n    if i == 5: break\nelse:\n    x = 'none'\nx", "none"),
    "while": ("n = 0\nwhile True:\n    n += 1\n    if n > 3: break\n    continue\nn", 4),
    "comprehensions": ("[{x: x * 2 for x in [1]}, {x for x in [1]}, list(x for x in [1] if x)]", [{1: 2}, {1}, [1]]),
    "walrus": ("y = [z := 5, z * 2]\ny, z, [last := i for i in range(3)], last", ([5, 10], 5, [0, 1, 2], 2)),
    "star-args": (
        "def f(a, /, b, *c, d, **e): return a, b, c, d, e\nf(*[1, 2, 3], **{'d': 4, 'x': 5})",
        (1, 2, (3,), 4, {"x": 5}),
    ),
    "star-literals": ("[*[1], *(2, 3)], {**{'a': 1}, 'b': 2}, {*[1]}", ([1, 2, 3], {"a": 1, "b": 2}, {1})),
    "lambda": ("sorted([3, 1, 2], key=lambda x: -x)", [3, 2, 1]),
    "ternary": ("'a' if 0 else 'b'", "b"),
    "chained-compare": ("1 < 2 < 3 != 4, 1 in [1], 2 not in [1], None is None", (True, True, True, True)),
    "nonlocal": (
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    g()\n    return g()\nf()",
        2,
    ),
    "global": ("n = 0\ndef f():\n    global n\n    n += 1\nf()\nf()\nn", 2),
    "global-read": ("n = 1\ndef f(): return n\nn = 2\nf()", 2),
    "recursion": ("def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(10)", 55),
    "closure": ("fs = [lambda i=i: i for i in range(3)]\n[f() for f in fs]", [0, 1, 2]),
    "private-function": ("def _helper(x): return x + 1\n_n = _helper(1)\n_n", 2),
    "underscore": ("for _ in range(2): pass\n_, __, x = 1, 2, 3\nx", 3),
    "private-attribute": (
        (
            "class A:\n    _shared = 1\n    def __init__(self): self._x = 1\n    def _up(self):\n        self._x += 1\n        return self._x\n"
            "A()._up(), A._shared, getattr(A(), '_x')"
        ),
        (2, 1, 1),
    ),
    "main-guard": ("def main():\n    return 5\nif __name__ == '__main__':\n    main()", 5),
    "main-call": ("def main():\n    return {'a': 1}\nmain()", {"a": 1}),
    "main-guard-exit": (
        "import sys\ndef main():\n    return 'x'\nif __name__ == '__main__':\n    sys.exit(main())",
        "x",
    ),
    "print-none": ("print('a', 1, sep=None, end=None, file=None, flush=True)\n7", 7),
    "decorator": (
        "def d(f):\n    def w(*a, **k): return f(*a, **k) + 1\n    return w\n@d\ndef g(x): return x\ng(1)",
        2,
    ),
    "yield-from": ("def g():\n    yield from [1, 2]\n    yield from (x for x in [3])\nlist(g())", [1, 2, 3]),
    "iter-sentinel": ("i = iter([1, 2, 0, 3])\nlist(iter(lambda: next(i), 0))", [1, 2]),
    "fstring-every-form": (
        'd = {\'k\': 2}\nw = 6\nf\'{d["k"]:03d}|{d["k"] = }|{1.5:>{w}.2f}|{"a"!r:>5}|{{}}|{(lambda x: x)(3)}|{[i for i in d]}\'',
        "002|d[\"k\"] = 2|  1.50|  'a'|{}|3|['k']",
    ),
    "slice-delete": ("a = list(range(10))\na[1:3] = [9]\ndel a[::2]\na", [9, 4, 6, 8]),
    "user-objects-writable": (
        "class A: pass\na = A()\na.x = 1\na.x += 1\nsetattr(a, 'y', 3)\na.d = {}\na.d['k'] = a.x + a.y\ndel a.y\n(a.d, hasattr(a, 'y'))",
        ({"k": 5}, False),
    ),
    "nested-defaultdict": (
        "from collections import defaultdict, Counter\nd = defaultdict(lambda: defaultdict(Counter))\nd['a']['b']['c'] += 2\nd['a']['b']['c']",
        2,
    ),
    "namedtuple-class": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: int = 2\n    def s(self): return self.a + self.b\nP(1).s(), P(1)._asdict()",
        (3, {"a": 1, "b": 2}),
    ),
    "with-two": ("from contextlib import nullcontext\nwith nullcontext(1) as a, nullcontext(2) as b:\n    a + b", 3),
    "union-annotations": (
        "def f(x: int | None = None, *, y: dict[str, list[int]] | None = None) -> int: return 4\nf()",
        4,
    ),
    "name-of-class": (
        (
            "class A:\n    def __repr__(self): return f'<{self.__class__.__name__}>'\ntry:\n    1 / 0\nexcept Exception as e:\n    n = e.__class__.__name__\n"
            "(n, repr(A()), A().__class__.__qualname__, (1).__class__.__name__, deployment.__class__.__name__)"
        ),
        ("ZeroDivisionError", "<A>", "A", "int", "Replicas"),
    ),
    "main-name": ("__name__", "__main__"),
    "docstring": ("'''About.'''\nx = 1\nx", 1),
    "return-top-level": ("x = 3\nif x > 2:\n    return 'big'\n'small'", "big"),
    "return-in-loop": ("for x in [1, 2, 3]:\n    if x == 2:\n        return x", 2),
    "return-in-try": ("try:\n    return 1\nexcept:\n    return 2\nfinally:\n    x = 3", 1),
    "last-if": ("if 1:\n    'a'\nelse:\n    'b'", "a"),
    "last-elif": ("x = 2\nif x == 1:\n    'a'\nelif x == 2:\n    'b'", "b"),
    "last-with": ("import contextlib\nwith contextlib.suppress(KeyError):\n    'a'", "a"),
    "last-try": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    str(e)", "division by zero"),
    "last-try-else": ("try:\n    x = 1\nexcept ValueError:\n    0\nelse:\n    x + 1", 2),
    "last-match": ("match 3:\n    case 1: 'one'\n    case _: 'other'", "other"),
    "last-none": ("None", None),
    "last-assignment": ("x = 1", compiler.NOTHING),
    "last-loop": ("for x in [1]: x", compiler.NOTHING),
    "last-print": ("print(1)", compiler.NOTHING),
    "last-if-not-taken": ("if 0:\n    1", compiler.NOTHING),
    "empty": ("# nothing\n", compiler.NOTHING),
    "exit-text": ("import sys\nsys.exit('no pods')", "no pods"),
    "exit-code": ("raise SystemExit(1)", compiler.NOTHING),
    "fence": ("```python\n1 + 1\n```", 2),
    "fence-plain": ("\n```\nx = 1\nx\n```\n", 1),
    "fence-py": ("```py\n1 + 1\n```", 2),
    "fence-tilde": ("~~~python\n1 + 1\n~~~", 2),
    "fence-unclosed": ("```python\nx = 1\nx", 1),
    "fence-in-prose": ("Here is the script:\n\n```python\nx = 1\nx + 1\n```\nIt adds.", 2),
    "fence-in-string-among-quotes": ('q = \'"""\'\nx = """\n```python\n5\n```\n"""\nlen(x)', 17),
    "fence-in-string": ('x = """\n```python\n5\n```\n"""\nlen(x)', 17),
    "indented": ("    x = 1\n    x + 1\n", 2),
    "windows-lines": ("x = 1\r\nx", 1),
    "bom": ("\ufeff1", 1),
    "future": ("from __future__ import annotations\ndef f(x: Unknown) -> Other: return x\nf(1)", 1),
    "semicolons": ("a = 1; b = 2; a + b", 3),
    # text
    "fstring": ("x = 3.14159\nw = 8\nf'{x:.2f}|{x!r}|{x:>{w}.1f}|{x=}|{{}}'", "3.14|3.14159|     3.1|x=3.14159|{}"),
    "format": ("'{:>5}|{a}|{b[k]}|{!r:>4}'.format('x', 'y', a=1, b={'k': 2})", "    x|1|2| 'y'"),
    "format-attribute": (
        "class P:\n    def __init__(self): self.name = 'web'\n'{0.name:<5}|{p.name}'.format(P(), p=P())",
        "web  |web",
    ),
    "format-map": ("'{a}-{b}'.format_map({'a': 1, 'b': 2})", "1-2"),
    "format-bound": ("list(map('{:03d}'.format, [1, 2]))", ["001", "002"]),
    "format-builtin": ("format(1234.5, ',.1f'), format('x', '>3')", ("1,234.5", "  x")),
    "percent": ("'%s=%05.1f %(x)s' % () if 0 else '%s=%05.1f' % ('a', 2)", "a=002.0"),
    "format-own-method": ("class R:\n    def format(self, x): return x * 2\nR().format(4)", 8),
    "strings": (
        "'a,b'.split(','), ' x '.strip(), 'x'.join(['1', '2']), 'abc'[::-1], b'x'.decode()",
        (["a", "b"], "x", "1x2", "cba", "x"),
    ),
    # match
    "match-mapping": (
        "match {'kind': 'Pod', 'n': [1, 2, 3], 'z': 0}:\n    case {'kind': 'Pod', 'n': [a, *b], **rest}:\n        (a, b, rest)",
        (1, [2, 3], {"z": 0}),
    ),
    "match-or-as": ("match 'Failed':\n    case 'Failed' | 'Unknown' as phase: phase", "Failed"),
    "match-class": (
        (
            "def f(x):\n    match x:\n        case bool(): return 'bool'\n        case int(n) if n > 1: return n\n        case str() | bytes(): return 'text'\n"
            "        case list([x]): return x\n        case None: return 'none'\n        case -1: return 'minus'\n        case _: return 'other'\n"
            "[f(x) for x in (True, 5, 'a', [7], None, -1, 2.5)]"
        ),
        ["bool", 5, "text", 7, "none", "minus", "other"],
    ),
    "match-value": (
        "import enum\nclass C(enum.Enum):\n    A = 1\n    B = 2\nmatch C.B:\n    case C.A: 'a'\n    case C.B: 'b'",
        "b",
    ),
    # classes
    "class": (
        (
            "class A:\n    def __init__(self, x): self.x = x\n    def __repr__(self): return f'A({self.x})'\n    def __eq__(self, o): return self.x == o.x\n"
            "    def __hash__(self): return hash(self.x)\n    def __lt__(self, o): return self.x < o.x\n"
            "repr(sorted([A(2), A(1)])), A(1) == A(1), len({A(1), A(1)})"
        ),
        ("[A(1), A(2)]", True, 1),
    ),
    "class-container": (
        (
            "class B:\n    def __init__(self): self.d = {}\n    def __setitem__(self, k, v): self.d[k] = v\n    def __getitem__(self, k): return self.d[k]\n"
            "    def __len__(self): return len(self.d)\n    def __iter__(self): return iter(self.d)\n    def __contains__(self, k): return k in self.d\n"
            "    def __bool__(self): return True\n    def __call__(self, x): return x\n    def __delitem__(self, k): del self.d[k]\n"
            "b = B()\nb['x'] = 1\nb['x'] += 1\nb['y'] = 0\ndel b['y']\n(b['x'], len(b), list(b), 'x' in b, bool(b), b(3))"
        ),
        (2, 1, ["x"], True, True, 3),
    ),
    "class-context": (
        (
            "log = []\nclass C:\n    def __enter__(self): return self\n    def __exit__(self, kind, error, tb):\n        log.append(kind.__name__)\n        return True\n"
            "with C() as c: 1 / 0\nlog"
        ),
        ["ZeroDivisionError"],
    ),
    "class-iterator": (
        (
            "class I:\n    def __init__(self): self.n = 0\n    def __iter__(self): return self\n    def __next__(self):\n        self.n += 1\n"
            "        if self.n > 2: raise StopIteration\n        return self.n\nlist(I())"
        ),
        [1, 2],
    ),
    "class-inheritance": (
        (
            "class A:\n    def __init__(self, x): self._x = x\n    def f(self): return self._x\nclass B(A):\n    def __init__(self):\n        super().__init__(2)\n"
            "    def f(self): return super().f() * 10\nB().f()"
        ),
        20,
    ),
    "class-property": (
        (
            "class A:\n    _n = 1\n    @property\n    def n(self): return self._n\n    @n.setter\n    def n(self, v): self._n = v\n    @staticmethod\n    def s(): return 's'\n"
            "    @classmethod\n    def c(cls): return cls.__name__\na = A()\na.n = 5\na.n += 1\n(a.n, A.s(), a.c())"
        ),
        (6, "s", "A"),
    ),
    "class-operators": (
        (
            "class V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o): return V(self.x + o.x)\n    def __neg__(self): return V(-self.x)\n"
            "    def __iadd__(self, o):\n        self.x += o.x\n        return self\nv = V(1)\nv += V(2)\n(-(v + V(4))).x"
        ),
        -7,
    ),
    "class-exception": (
        (
            "class Oops(Exception):\n    def __init__(self, code):\n        super().__init__(f'code {code}')\n        self.code = code\n"
            "try:\n    raise Oops(7) from None\nexcept Oops as e:\n    (str(e), e.code, e.args, type(e).__name__)"
        ),
        ("code 7", 7, ("code 7",), "Oops"),
    ),
    "class-dict": (
        "class D(dict):\n    def __getattr__(self, k): return self[k]\n    def __missing__(self, k): return k\nd = D(a=1)\n(d.a, d.b, d['c'])",
        (1, "b", "c"),
    ),
    "class-str": (
        "class S(str):\n    def shout(self): return self.upper() + '!'\nS('{}').format('x'), S('a').shout(), isinstance(S('a'), str)",
        ("x", "A!", True),
    ),
    "class-abc": (
        "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self):\n        self._n = 1\n        return self._n\nB().f()",
        1,
    ),
    "class-protocol": (
        "from typing import Protocol\nclass P(Protocol):\n    def f(self) -> int: ...\nclass A:\n    def f(self) -> int: return 1\ndef g(p: P) -> int: return p.f()\ng(A())",
        1,
    ),
    "class-generic": (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Box(Generic[T]):\n    def __init__(self, x: T): self.x = x\nBox[int](3).x",
        3,
    ),
    "class-mapping": (
        "from collections.abc import Mapping\nclass M(Mapping):\n    def __getitem__(self, k): return 1\n    def __iter__(self): return iter(['a'])\n    def __len__(self): return 1\ndict(M())",
        {"a": 1},
    ),
    "dataclass": (
        (
            "from dataclasses import dataclass, field, asdict, replace, fields\n@dataclass(frozen=True, order=True)\nclass P:\n    name: str\n    tags: list = field(default_factory=list)\n    n: int = 0\n"
            "p = P('a')\n(repr(p), asdict(replace(p, n=2)), p == P('a'), [f.name for f in fields(P)])"
        ),
        ("P(name='a', tags=[], n=0)", {"name": "a", "tags": [], "n": 2}, True, ["name", "tags", "n"]),
    ),
    "dataclass-more": (
        (
            "from __future__ import annotations\nfrom dataclasses import dataclass, KW_ONLY\nfrom typing import ClassVar\n@dataclass(slots=True)\nclass A:\n    K: ClassVar[int] = 3\n    x: int = 1\n    _: KW_ONLY\n    _y: A | None = None\n"
            "    def __post_init__(self): self.x += self.K\nA(1, _y=None).x"
        ),
        4,
    ),
    "namedtuple": (
        (
            "from typing import NamedTuple\nfrom collections import namedtuple\nclass P(NamedTuple):\n    x: int\n    y: int = 2\n    def total(self): return self.x + self.y\n"
            "Q = namedtuple('Q', 'a b')\n(P(1).total(), P(1)._asdict(), P(1)._replace(x=5).x, Q(1, b=2).b, Q._fields)"
        ),
        (3, {"x": 1, "y": 2}, 5, 2, ("a", "b")),
    ),
    "namedtuple-base": (
        "from collections import namedtuple\nclass Q(namedtuple('Q', 'a')):\n    def twice(self): return self.a * 2\nQ(2).twice()",
        4,
    ),
    "enum": (
        (
            "from enum import Enum, IntEnum, StrEnum, Flag, auto\nclass C(Enum):\n    A = 'a'\n    B = 'b'\n    def hi(self): return self.name + self.value\nclass N(IntEnum):\n    X = 1\nclass S(str, Enum):\n    R = 'r'\n"
            "class T(StrEnum):\n    U = auto()\nclass F(Flag):\n    P = auto()\n    Q = auto()\n([c.name for c in C], C('b').hi(), C['A'].value, N.X + 1, S.R == 'r', T.U.upper(), (F.P | F.Q).value, list(C.__members__))"
        ),
        (["A", "B"], "Bb", "a", 2, True, "U", 3, ["A", "B"]),
    ),
    "typeddict": ("from typing import TypedDict\nclass T(TypedDict, total=False):\n    a: int\nT(a=1)", {"a": 1}),
    "instance-write": (
        "class A: pass\na = A()\na.x = [1]\na.x[0] = 2\nsetattr(a, 'y', 3)\nA.z = 4\ndel a.y\nvars(a), hasattr(a, 'y'), a.z",
        ({"x": [2]}, False, 4),
    ),
    "function-attribute": ("def f():\n    f.count += 1\nf.count = 0\nf()\nf.count", 1),
    "simple-namespace": (
        "from types import SimpleNamespace\nn = SimpleNamespace(a=1)\nn.a += 1\nn.b = 2\nvars(n)",
        {"a": 2, "b": 2},
    ),
    "sdk-write": ("deployment.replicas += 2\ndeployment.replicas", 3),
    "decorator-own": (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a, **k): return f(*a, **k) * 2\n    return g\n@twice\ndef h(x): return x\nh(2), h.__name__",
        (4, "h"),
    ),
    "context-manager": (
        "from contextlib import contextmanager\n@contextmanager\ndef cm():\n    yield 5\nwith cm() as x: y = x\ny",
        5,
    ),
    "generator": (
        "def g(n):\n    got = yield n\n    yield from [got, 9]\ni = g(1)\n[next(i), i.send(4), *i]",
        [1, 4, 9],
    ),
    "cached": (
        (
            "from functools import lru_cache, cached_property, partial, reduce\n@lru_cache(maxsize=None)\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
            "class A:\n    @cached_property\n    def x(self): return [1]\na = A()\n(f(30), a.x is a.x, partial(pow, 2)(3), reduce(lambda x, y: x + y, [1, 2]))"
        ),
        (832040, True, 8, 3),
    ),
    # errors
    "try": (
        (
            "def f(x):\n    try:\n        return 1 / x\n    except ZeroDivisionError:\n        return 'zero'\n    except (TypeError, ValueError) as e:\n        return type(e).__name__\n    else:\n        pass\n"
            "    finally:\n        x = 0\n[f(1), f(0), f('a')]"
        ),
        [1.0, "zero", "TypeError"],
    ),
    "assert": ("try:\n    assert 1 == 2, 'no'\nexcept AssertionError as e:\n    str(e)", "no"),
    "raise-from": (
        "try:\n    try:\n        {}['x']\n    except KeyError as e:\n        raise ValueError('bad') from e\nexcept ValueError as e:\n    str(e)",
        "bad",
    ),
    "stop-iteration": (
        "def g():\n    yield 1\n    return 2\ni = g()\nnext(i)\ntry:\n    next(i)\nexcept StopIteration as e:\n    e.value",
        2,
    ),
    # builtins
    "builtins": (
        (
            "[sum([1, 2]), min(1, 2), max([1, 2], default=0), any([0]), all([]), list(zip('ab', [1, 2])), list(enumerate('a', 1)), list(map(str, [1])), list(filter(None, [0, 1])), "
            "list(reversed([1, 2])), next(iter([5])), next(iter([]), 'd'), abs(-1), round(2.567, 2), divmod(7, 2), pow(2, 3, 5), ord('a'), chr(97), hex(255), bin(2), oct(8), callable(len), bool([]), "
            "len('abc'), sorted('ba'), isinstance(1, (int, str)), issubclass(bool, int), ascii('é')]"
        ),
        [
            3,
            1,
            2,
            False,
            True,
            [("a", 1), ("b", 2)],
            [(1, "a")],
            ["1"],
            [1],
            [2, 1],
            5,
            "d",
            1,
            2.57,
            (3, 1),
            3,
            97,
            "a",
            "0xff",
            "0b10",
            "0o10",
            True,
            False,
            3,
            ["a", "b"],
            True,
            True,
            "'\\xe9'",
        ],
    ),
    "type": (
        "[type(1) is int, type('x') == str, type(int) is type, isinstance(int, type), isinstance(1, type), type(None).__name__, type(lambda: 0).__name__]",
        [True, True, True, True, False, "NoneType", "function"],
    ),
    "getattr": (
        "getattr('x', 'upper')(), getattr('x', 'nope', 1), hasattr([], 'append'), hasattr([], '__iter__'), hasattr(1, '__iter__')",
        ("X", 1, True, True, False),
    ),
    "dir": ("[n for n in dir('') if n.startswith('is')][:2]", ["isalnum", "isalpha"]),
    "constructors": (
        "[list('ab'), dict(a=1), set([1]), tuple([1]), frozenset([1]), bytes([65]), bytearray(b'a'), complex(1, 2), int('7'), float('1.5'), str(1), object() is not None]",
        [["a", "b"], {"a": 1}, {1}, (1,), frozenset({1}), b"A", bytearray(b"a"), 1 + 2j, 7, 1.5, "1", True],
    ),
    "own-name-for-builtin": ("def open(x): return x\ninput = open(3)\ncompile = [input]\ncompile", [3]),
    "forgotten-import": ("json.dumps({'a': re.sub('x', 'y', 'x')})", '{"a": "y"}'),
}
