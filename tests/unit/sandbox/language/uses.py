"""Uses of the allowed library, each with its value."""

from __future__ import annotations

USES: dict[str, tuple[str, object]] = {
    "json": (
        "json.loads(json.dumps({'a': [1, None, 'é']}, indent=1, sort_keys=True, ensure_ascii=False))",
        {"a": [1, None, "é"]},
    ),
    "json-plain": (
        (
            "import dataclasses, datetime\n@dataclasses.dataclass\nclass P:\n    x: int = 1\n"
            "json.dumps([P(), {2, 1}, datetime.date(2026, 1, 2), (x for x in [1])])"
        ),
        '[{"x": 1}, [1, 2], "2026-01-02", [1]]',
    ),
    "json-default": ("json.dumps({'a': 1j}, default=str)", '{"a": "1j"}'),
    "json-hook": ("json.loads('{\"a\": 1.5}', object_hook=lambda d: list(d), parse_float=str)", ["a"]),
    "json-error": ("try:\n    json.loads('{')\nexcept json.JSONDecodeError as e:\n    e.pos", 1),
    "re": (
        "re.sub('(a)', r'<\\1>', 'a') == '<a>' and re.sub(r'(\\d+)', lambda m: str(int(m.group(1)) + 1), 'a9'), re.findall('a|b', 'ab', re.I), re.match(r'(?P<x>.)', 'q').groupdict()",
        ("a10", ["a", "b"], {"x": "q"}),
    ),
    "math": ("math.ceil(math.sqrt(10)), round(math.pi, 2), math.isnan(math.nan)", (4, 3.14, True)),
    "datetime": (
        (
            "from datetime import datetime, timedelta, timezone, UTC\nt = datetime.fromisoformat('2026-03-01T10:00:00Z')\n"
            "(t + timedelta(hours=25)).strftime('%d %H'), (datetime.now(timezone.utc) - t).total_seconds() != 0, "
            "datetime.strptime('2026-03-01', '%Y-%m-%d').month, t.tzinfo == UTC"
        ),
        ("02 11", True, 3, True),
    ),
    "zoneinfo": (
        (
            "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nz = ZoneInfo('Europe/Berlin')\n"
            "[datetime(2026, m, 1, tzinfo=z).utcoffset().seconds // 3600 for m in (1, 7)], z is ZoneInfo('Europe/Berlin'), isinstance(z, ZoneInfo), str(z)"
        ),
        ([1, 2], True, True, "Europe/Berlin"),
    ),
    "time": (
        "import time\nt = time.time()\ntime.gmtime(0).tm_year, time.monotonic() >= 0, time.strftime('%Y', time.gmtime(0)), t > 0",
        (1970, True, "1970", True),
    ),
    "collections": (
        "from collections import Counter, deque, OrderedDict, ChainMap\nc = Counter('aab')\nc['z'] += 1\nc.most_common(1), list(deque([1, 2], maxlen=1)), ChainMap({1: 2})[1]",
        ([("a", 2)], [2], 2),
    ),
    "itertools": (
        "import itertools\nlist(itertools.chain([1], [2])), [(k, len(list(g))) for k, g in itertools.groupby('aab')], list(itertools.islice(itertools.count(), 2))",
        ([1, 2], [("a", 2), ("b", 1)], [0, 1]),
    ),
    "operator": (
        "from operator import itemgetter, attrgetter, methodcaller\nsorted([{'a': 2}, {'a': 1}], key=itemgetter('a')), attrgetter('real', 'imag')(1), methodcaller('upper')('x'), attrgetter('real.imag')(3)",
        ([{"a": 1}, {"a": 2}], (1, 0), "X", 0),
    ),
    "statistics": (
        "import statistics\nstatistics.median([3, 1, 2]), statistics.mean([1, 2]), statistics.quantiles([1, 2, 3], n=2)",
        (2, 1.5, [2.0]),
    ),
    "base64": ("import base64\nbase64.b64decode(base64.b64encode(b'x')).decode()", "x"),
    "hashlib": (
        "import hashlib, hmac\nhashlib.sha256(b'').hexdigest()[:6], hmac.compare_digest('a', 'a')",
        ("e3b0c4", True),
    ),
    "helm": (
        "import gzip, zlib, base64\nd = gzip.compress(b'release')\ngzip.decompress(d), zlib.decompress(zlib.compress(b'x'))",
        (b"release", b"x"),
    ),
    "text": (
        "import textwrap, string, html, difflib, fnmatch\ntextwrap.shorten('a b c', 4, placeholder='.'), string.Template('$a').substitute(a=1), html.escape('<'), list(difflib.unified_diff(['a'], ['b'], n=0))[2:], fnmatch.filter(['web-1', 'db'], 'web*')",
        ("a b.", "1", "&lt;", ["@@ -1 +1 @@\n", "-a", "+b"], ["web-1"]),
    ),
    "numbers": (
        "from decimal import Decimal, getcontext\nfrom fractions import Fraction\ngetcontext().prec = 3\nstr(Decimal(1) / 3), str(Fraction(1, 3) + 1)",
        ("0.333", "4/3"),
    ),
    "ip": ("import ipaddress\nipaddress.ip_address('10.0.0.1') in ipaddress.ip_network('10.0.0.0/8')", True),
    "url": (
        "from urllib.parse import urlparse, urlencode, quote\nurlparse('https://a:1/b?c=d').port, urlencode({'a': 'b c'}), quote('a/b', safe='')",
        (1, "a=b+c", "a%2Fb"),
    ),
    "heap": ("import heapq, bisect\nheapq.nlargest(2, [1, 3, 2]), bisect.bisect([1, 2], 1)", ([3, 2], 1)),
    "copy": ("import copy\nd = {'a': [1]}\ne = copy.deepcopy(d)\ne['a'] += [2]\nd, copy.copy([1])", ({"a": [1]}, [1])),
    "csv": (
        "import csv, io\nb = io.StringIO()\nw = csv.DictWriter(b, ['a'])\nw.writeheader()\nw.writerow({'a': 1})\nlist(csv.reader(['x,y'])), b.getvalue()",
        ([["x", "y"]], "a\r\n1\r\n"),
    ),
    "random": (
        "import random\nrandom.seed(1)\na = random.random()\nrandom.seed(1)\na == random.random(), random.Random(2).randint(1, 1)",
        (True, 1),
    ),
    "calendar": ("import calendar\ncalendar.monthrange(2026, 2)[1], calendar.month_name[1]", (28, "January")),
    "pprint": ("from pprint import pformat\npformat({'b': 1, 'a': 2})", "{'a': 2, 'b': 1}"),
    "tomllib": ("import tomllib\ntomllib.loads('a = 1')", {"a": 1}),
    "unicodedata": ("import unicodedata\nunicodedata.name('a'), '\\N{BULLET}'", ("LATIN SMALL LETTER A", "•")),
    "warnings": ("import warnings\nwarnings.filterwarnings('ignore')\nwarnings.warn('x')", None),
    "sys": ("import sys\nsys.version_info >= (3, 11), sys.maxsize > 0", (True, True)),
    "total-ordering": (
        "import functools\n@functools.total_ordering\nclass A:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n    def __lt__(self, o): return self.x < o.x\nA(2) >= A(1)",
        True,
    ),
    "typing": (
        "from typing import Any, Optional, Union, Callable, Iterator\ndef f(x: Optional[int], g: Callable[[int], Any]) -> Union[int, str]: return g(x)\nf(1, str)",
        "1",
    ),
    "submodule": (
        "import collections.abc, urllib.parse as up\nisinstance([], collections.abc.Sequence), up.unquote('%20')",
        (True, " "),
    ),
}
