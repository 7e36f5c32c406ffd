"""The standard library for scripts: proxies with chosen names, never a module.

Attack: a script reads `json.codecs.sys`. A module leads to every module that it imports, so `import json` returns a
ModuleProxy with the names listed in EXPORTS; other names do not exist. Functions that evaluate text, read attributes by
name or write to their arguments come from shims.py instead. builtins.py imports from MODULES. The fork server calls
`warm`, which imports everything ahead of time: after the lockdown no file can be opened.
"""

from __future__ import annotations

import datetime
import difflib
import encodings
import importlib
import time
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from kubescript_sandbox.library import shims, timezones

__all__ = ["IMPORT_LINES", "MODULES", "Module", "ModuleProxy", "warm"]


_MAX_LISTED: Final = 30
"""How many members of a module the error about a missing one lists."""


class Module:
    """The base of objects that represent a module. An import can pass through and end at no other object."""

    __slots__ = ()


class ModuleProxy(Module):
    """A read-only object with chosen names of a module."""

    # A proxy must have no `__name__`. Attack: a script writes `from x import y` without a `y` in x; Python would then
    # return the real module `sys.modules[x.__name__ + ".y"]`.

    def __init__(self, name: str, members: Mapping[str, object]) -> None:
        self.__dict__.update(members)
        self.__dict__["_name_"] = name

    def __getattr__(self, name: str) -> NoReturn:
        module = self.__dict__["_name_"]
        advice = _ADVICE.get(f"{module}.{name}")
        if advice:
            raise AttributeError(f"{module}.{name} is not available: {advice}") from None
        members = dir(self)
        near = difflib.get_close_matches(name, members, 1)
        listed = ", ".join(members[:_MAX_LISTED])
        hint = f"did you mean {near[0]!r}?" if near else f"it has: {listed}"
        raise AttributeError(f"{module} has no {name!r} here; {hint}") from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError("modules cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise TypeError("modules cannot be changed")

    def __dir__(self) -> list[str]:
        public = [name for name in self.__dict__ if not name.startswith("_")]
        return sorted(public)

    def __repr__(self) -> str:
        return f"<module {self.__dict__['_name_']!r}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("modules cannot be copied")


EXPORTS: Final[dict[str, str]] = {
    "abc": "ABC",
    "base64": (
        "b64encode b64decode standard_b64encode standard_b64decode urlsafe_b64encode urlsafe_b64decode b32encode "
        "b32decode b32hexencode b32hexdecode b16encode b16decode a85encode a85decode b85encode b85decode encodebytes "
        "decodebytes"
    ),
    "binascii": "hexlify unhexlify b2a_hex a2b_hex b2a_base64 a2b_base64 crc32 crc_hqx Error Incomplete",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": (
        "isleap leapdays weekday monthrange monthcalendar timegm day_name day_abbr month_name month_abbr MONDAY "
        "TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY"
    ),
    "cmath": (
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj "
        "phase pi polar rect sin sinh sqrt tan tanh tau"
    ),
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": (
        "Awaitable Callable ByteString Collection Container Coroutine Generator Hashable ItemsView Iterable Iterator "
        "KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized "
        "ValuesView"
    ),
    "contextlib": "AbstractContextManager ExitStack closing nullcontext suppress",
    "copy": "Error",
    "csv": "reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Error",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": (
        "Decimal Context getcontext localcontext setcontext ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN "
        "ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP ROUND_05UP DecimalException DivisionByZero InvalidOperation Inexact "
        "Rounded Overflow"
    ),
    "difflib": "SequenceMatcher context_diff get_close_matches ndiff restore unified_diff",
    "enum": "auto unique",
    "fractions": "Fraction",
    "functools": "cached_property cmp_to_key partial reduce",
    "hashlib": (
        "md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512 blake2b blake2s new pbkdf2_hmac "
        "algorithms_guaranteed"
    ),
    "heapq": "heappush heappop heapify heapreplace heappushpop merge nlargest nsmallest",
    "hmac": "new digest compare_digest",
    "html": "escape unescape",
    "io": "StringIO BytesIO",
    "ipaddress": (
        "ip_address ip_network ip_interface IPv4Address IPv4Network IPv4Interface IPv6Address IPv6Network "
        "IPv6Interface AddressValueError NetmaskValueError collapse_addresses summarize_address_range"
    ),
    "itertools": (
        "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile "
        "filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest"
    ),
    "json": "JSONDecodeError",
    "math": "*",
    "numbers": "Number Complex Real Rational Integral",
    "operator": (
        "abs add and_ concat contains countOf eq floordiv ge getitem gt index indexOf inv invert is_ is_not itemgetter "
        "le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor"
    ),
    "pprint": "pformat saferepr",
    "random": (
        "Random betavariate choice choices expovariate gauss getrandbits normalvariate paretovariate randbytes randint "
        "random randrange sample seed shuffle triangular uniform"
    ),
    "re": (
        "A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE L NOFLAG Match Pattern RegexFlag compile error "
        "escape findall finditer fullmatch match purge search split sub subn PatternError"
    ),
    "statistics": (
        "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean linear_regression mean "
        "median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance"
    ),
    "string": (
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
        "punctuation whitespace"
    ),
    "textwrap": "dedent fill indent shorten wrap",
    "time": (
        "asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time "
        "strftime strptime struct_time time time_ns timezone tzname altzone daylight"
    ),
    "tomllib": "loads TOMLDecodeError",
    "types": "MappingProxyType NoneType",
    "typing": (
        "AbstractSet Any AnyStr BinaryIO Callable ClassVar Collection Concatenate Container ContextManager Counter "
        "DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator KeysView "
        "List Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet "
        "Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Pattern Protocol Required Reversible Self "
        "Sequence Set Sized SupportsFloat SupportsIndex SupportsInt Text TextIO Tuple Type TypeAlias TypeGuard TypeVar "
        "TypedDict Union Unpack ValuesView TYPE_CHECKING assert_never cast"
    ),
    "unicodedata": (
        "bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored "
        "name normalize numeric unidata_version"
    ),
    "urllib.parse": (
        "ParseResult SplitResult parse_qs parse_qsl unquote unquote_plus "
        "unquote_to_bytes urldefrag urljoin urlparse urlsplit urlunparse urlunsplit"
    ),
    "zlib": "adler32 compress crc32 error",
}
"""Module ▶ the names that a script gets, if the running Python has them; `*` for all public names."""

_NO_EVAL: Final = "it evaluates text as code"
_ADVICE: Final = {
    "time.sleep": "waiting uses up the time limit; return what you know, and run another script later",
    "json.load": "there are no files here: use json.loads",
    "json.dump": "there are no files here: use json.dumps",
    "json.JSONEncoder": "pass a function: json.dumps(x, default=str)",
    "json.JSONDecoder": "pass a function: json.loads(text, object_hook=…)",
    "string.Formatter": "use an f-string or str.format",
    "collections.UserString": "inherit from str",
    "typing.get_type_hints": _NO_EVAL,
    "typing.ForwardRef": _NO_EVAL,
    "functools.singledispatch": f"{_NO_EVAL} in annotations; use a dict of functions by type",
    "functools.partialmethod": "write a method",
    "functools.update_wrapper": "use functools.wraps",
    "dataclasses.make_dataclass": "write the class with @dataclass",
    "random.SystemRandom": "use random.Random",
    "operator.setitem": "write d[k] = v",
    "operator.delitem": "write del d[k]",
    "types.FunctionType": "write a def",
    "types.ModuleType": "use types.SimpleNamespace",
    "enum.EnumMeta": "inherit from Enum",
    "abc.ABCMeta": "inherit from abc.ABC",
    "io.open": "there are no files here",
    "gzip.open": "use gzip.decompress(data)",
    "contextlib.redirect_stdout": "append to a list instead of printing",
    "collections.abc.register": "inherit from it",
}
_DATETIME_CONSTRUCTORS: Final = ("now", "utcnow", "fromisoformat", "strptime", "fromtimestamp")
"""Methods of datetime.datetime that the module `datetime` has too: scripts without an import confuse the two."""
_ENCODINGS: Final = (
    "ascii utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be latin_1 iso8859_15 cp1252 cp437 idna "
    "punycode unicode_escape raw_unicode_escape"
)
"""Text encodings that are imported ahead of time; any other raises LookupError after the lockdown."""


def _export(module: str, exports: str) -> dict[str, object]:
    """Returns the exported names of a real module, if the running Python has them."""
    real = importlib.import_module(module)
    names = exports.split()
    if exports == "*":
        names = [name for name in dir(real) if not name.startswith("_")]
    present = [name for name in names if hasattr(real, name)]
    return {name: getattr(real, name) for name in present}


def _build() -> dict[str, ModuleProxy]:
    members = _members()
    nested = [module for module in members if "." in module]
    proxies = {module: ModuleProxy(module, members[module]) for module in members if module not in nested}
    for module in nested:
        proxy = ModuleProxy(module, members[module])
        proxies[module] = proxy
        parent, _, leaf = module.partition(".")
        outer = proxies.setdefault(parent, ModuleProxy(parent, {}))
        outer.__dict__[leaf] = proxy
    return proxies


def _members() -> dict[str, dict[str, object]]:
    """Returns the members of each module: those in EXPORTS, and the replacements."""
    members = {module: _export(module, exports) for module, exports in EXPORTS.items()}
    for module, replacements in shims.MEMBERS.items():
        members.setdefault(module, {}).update(replacements)
    for name in _DATETIME_CONSTRUCTORS:
        members["datetime"][name] = getattr(datetime.datetime, name)
    members["zoneinfo"] = dict(timezones.MEMBERS)
    return members


MODULES: Final[Mapping[str, ModuleProxy]] = _build()
"""Modules that scripts can import. builtins.py adds sys, logging, warnings and the printing part of pprint."""

IMPORT_LINES: Final[Mapping[str, str]] = {
    name: f"from {module} import {name}"
    for module, proxy in sorted(MODULES.items(), key=lambda item: item[0] in {"datetime", "collections", "dataclasses"})
    for name in dir(proxy)
    if len(name) > 3
}
"""Name ▶ the line that imports it, for the hint of a NameError. The modules that scripts most often mean come last, and
so override others."""


def warm() -> None:
    """Runs everything that opens files or imports on first use: time zones, encodings, strptime, the local time
    zone."""
    timezones.load()
    for name in _ENCODINGS.split():
        encodings.search_function(name)
        "".encode(name)
    time.strptime("2026-01-01", "%Y-%m-%d")
    time.localtime()
    importlib.import_module("unicodedata")
    _run_late_imports()


def _run_late_imports() -> None:
    """Calls library functions that import other modules on first use."""
    modules: dict[str, Any] = dict(MODULES)
    modules["datetime"].datetime.strptime("2026-01-01T00:00:00+0000", "%Y-%m-%dT%H:%M:%S%z").strftime("%c %Z")
    modules["hashlib"].new("sha256", b"").hexdigest()
    modules["statistics"].quantiles([1, 2, 3], n=4)
    modules["random"].sample(range(10), 3)
    modules["pprint"].pformat({"a": [1, 2]})
    modules["difflib"].get_close_matches("a", ["b"])
    modules["hashlib"].pbkdf2_hmac("sha256", b"x", b"y", 1)
    "\N{BULLET}".encode("idna")
    repr(modules["decimal"].Decimal("1.5") / 3)
