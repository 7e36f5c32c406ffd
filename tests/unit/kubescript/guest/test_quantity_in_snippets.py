"""What models write with `quantity`: snippets that were written before it became an exact number."""

from __future__ import annotations

from typing import Any

import pytest

from kubescript_sandbox.library import stdlib
from tests.kit import cases
from tests.kit.two_pods import answer

LINES = """
import math, statistics, json
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
cpus = ["250m", "500m", "1", "100m", None, "50m", ""]
memory = {"a": "128Mi", "b": "1Gi", "c": "1.5Gi", "d": None, "e": "64M"}
usage = [{"ns": "x", "cpu": "123456789n"}, {"ns": "y", "cpu": "20m"}, {"ns": "x", "cpu": "876543211n"}]
"""

SNIPPETS: dict[str, Any] = {
    # sums
    "sum(quantity(c) for c in cpus)": 1.9,
    "sum(map(quantity, cpus))": 1.9,
    "sum([quantity(c) for c in cpus], 0.0)": 1.9,
    "sum((quantity(c) for c in cpus), Decimal(0))": 1.9,
    "total = 0\nfor c in cpus:\n    total += quantity(c)\ntotal": 1.9,
    "total = 0.0\nfor c in cpus:\n    total += quantity(c)\ntotal": 1.9,
    "total = Decimal('0')\nfor c in cpus:\n    total += quantity(c)\ntotal": 1.9,
    "sum(quantity('100m') for _ in range(10)) == 1": True,
    "math.fsum(map(quantity, cpus))": 1.9,
    "by = defaultdict(float)\nfor u in usage:\n    by[u['ns']] += quantity(u['cpu'])\nby": {"x": 1, "y": 0.02},
    "by = defaultdict(int)\nfor u in usage:\n    by[u['ns']] += quantity(u['cpu'])\ndict(by)": {"x": 1, "y": 0.02},
    "by = Counter()\nfor u in usage:\n    by[u['ns']] += quantity(u['cpu'])\nby.most_common(1)": [["x", 1]],
    "by = {}\nfor u in usage:\n    by[u['ns']] = by.get(u['ns'], 0) + quantity(u['cpu'])\nby": {"x": 1, "y": 0.02},
    "by = defaultdict(lambda: [0, 0])\nfor u in usage:\n    by[u['ns']][0] += quantity(u['cpu'])\nby['x']": [1, 0],
    "c = Counter({'a': quantity('1Gi')})\nc.update({'a': quantity('1Gi')})\nc.total(), c": [2147483648, {"a": 2147483648}],
    # differences and noise
    "quantity('2') - quantity('850m')": 1.15,
    "quantity('16') - quantity('14850m')": 1.15,
    "math.ceil(quantity('1100m') * 10)": 11,
    "math.ceil(quantity('1') * 1.1 * 10)": 11,
    "math.ceil(quantity('7') / quantity('100') * 100)": 7,
    "math.floor((quantity('4') - quantity('3900m')) / quantity('100m'))": 1,
    "int(quantity('1') / 3 * 3)": 1,
    "quantity('3') // quantity('100m'), quantity('1050m') % quantity('100m'), divmod(quantity('1'), quantity('300m'))": [
        *(30, 0.05, [3, 0.1])
    ],
    # units
    "{k: quantity(v) / 1024**2 for k, v in memory.items()}": {"a": 128, "b": 1024, "c": 1536, "d": 0, "e": 61.03515625},
    "{k: round(quantity(v) / 2**30, 2) for k, v in memory.items()}": {"a": 0.12, "b": 1, "c": 1.5, "d": 0, "e": 0.06},
    "quantity('1Gi') // (1024 * 1024), int(quantity('1Gi') / 1e6), quantity('1Gi') / 1e9": [1024, 1073, 1.073741824],
    "quantity('250m') * 1000, int(quantity('250m') * 1000), int(1000 * quantity('1.5'))": [250, 250, 1500],
    "quantity('1Gi') / quantity('1Mi'), quantity('512Mi') / quantity('1Gi')": [1024, 0.5],
    "round(quantity('123456789n') * 1000)": 123,
    # ratios
    "round(100 * quantity('850m') / quantity('2'), 1)": 42.5,
    "round(quantity('700m') / quantity('1') * 100)": 70,
    "f\"{quantity('1') / quantity('3'):.1%}\"": "33.3%",
    "f\"{quantity('850m') / quantity('2') * 100:.1f}%\"": "42.5%",
    "quantity('1') / quantity('0') if quantity('0') else None": None,
    "quantity('100m') and 1 or 2, not quantity(''), bool(quantity('0')), quantity(None) or 'none'": [1, True, False, "none"],
    # comparisons
    "[c for c in cpus if quantity(c) >= 0.1]": ["250m", "500m", "1", "100m"],
    "quantity('100m') == 0.1, 0.1 == quantity('100m'), quantity('100m') == Decimal('0.1'), Decimal('0.1') == quantity('0.1')": [True] * 4,
    "quantity('1') == 1, 1 == quantity('1'), quantity('1') != '1', quantity('0.3') == 0.1 + 0.2": [True, True, True, False],
    "0.2 < quantity('250m') < Decimal('0.3'), 1 > quantity('999m'), Decimal(1) >= quantity(1), quantity('1') > 0.99": [True] * 4,
    "quantity('1Gi') == quantity('1024Mi') == 2**30 == parse_quantity('1Gi')": True,
    "quantity('1') > float('-inf'), quantity('1') < float('inf'), quantity('1') < math.inf": [True] * 3,
    "best = float('inf')\nfor c in cpus:\n    best = min(best, quantity(c))\nbest": 0,
    "sorted(cpus, key=quantity)[-1], max(cpus, key=quantity), min(filter(None, cpus), key=quantity)": ["1", "1", "50m"],
    "sorted([quantity('1'), 0.5, Decimal('0.75'), 2], reverse=True)": [2, 1, 0.75, 0.5],
    "len({quantity('1'), 1, quantity('1000m'), 1.0}), {quantity('250m'): 'x'}[0.25], quantity('100m') in {0.1}": [1, "x", True],
    # formats
    "f\"{quantity('1Gi')} {quantity('250m')} {quantity('1Gi'):,} {quantity('2'):.2f} {quantity('250m'):>8}|\"": (
        "1073741824 0.25 1,073,741,824 2.00     0.25|"
    ),
    "str(quantity('2')), repr(quantity('250m')), '%s %d %.1f' % (quantity('1'), quantity('2'), quantity('2500m'))": [
        *("2", "0.25", "1 2 2.5")
    ],
    "'{:.1f} {:d} {:05.1f} {:<6}|'.format(quantity('1500m'), quantity('3'), quantity('2.25'), quantity('7'))": "1.5 3 002.2 7     |",
    "f\"{quantity('1Gi') / 2**30:.1f}Gi\", f\"{quantity('1.5Gi') / 1024 ** 3:g}\", f\"{quantity('2675m'):.2f}\"": ["1.0Gi", "1.5", "2.68"],
    "print(quantity('250m'))\n[quantity('1'), {'a': quantity('100n')}]": [1, {"a": 1e-07}],
    "'cpu=' + str(quantity('250m') + quantity('1'))": "cpu=1.25",
    # libraries
    "statistics.mean(map(quantity, ['1', '500m'])), statistics.median([quantity(c) for c in cpus]), statistics.mean([quantity('1'), 2.0])": [
        *(0.75, 0.1, 1.5)
    ],
    "round(statistics.stdev(map(quantity, ['1', '2', '4'])), 3), statistics.quantiles(map(quantity, ['1', '2', '3']), n=2)": [1.528, [2]],
    "int(math.sqrt(quantity('4'))), int(math.log2(quantity('1Gi'))), math.isclose(quantity('100m'), 0.1), math.trunc(quantity('1900m'))": [2, 30, True, 1],
    "list(range(quantity('3'))), ['a', 'b'][quantity('1')], 'ab' * quantity('2'), hex(quantity('1Ki'))": [[0, 1, 2], "b", "abab", "0x400"],
    "json.dumps({'cpu': quantity('250m'), 'mem': quantity('1Gi')})": '{"cpu": 0.25, "mem": 1073741824}',
    "json.loads(json.dumps([quantity('1'), quantity('100m')], default=str))": [1, 0.1],
    "float(quantity('250m')), int(quantity('1Gi')), Decimal(str(quantity('250m'))), Fraction(quantity('250m'))": [0.25, 1073741824, 0.25, "1/4"],
    "abs(quantity('-250m')), -quantity('1'), +quantity('1'), quantity('2') ** 2, int(quantity('4') ** 0.5)": [0.25, -1, 1, 4, 2],
    "1 - quantity('900m'), 2 * quantity('100m'), 0.5 * quantity('100m'), Decimal('0.5') * quantity('100m'), 1.0 / quantity('300m') * quantity('3')": [
        *(0.1, 0.2, 0.05, 0.05, 10)
    ],
    "table([{'ns': 'x', 'cpu': quantity('250m'), 'mem': quantity('1Gi')}])": "ns  cpu   mem\nx   0.25  1073741824",
    "top([{'n': 'a', 'c': quantity('250m')}, {'n': 'b', 'c': quantity('2')}, {'n': 'c', 'c': '500m'}], 'c', 2)": [
        *({"n": "b", "c": 2}, {"n": "c", "c": "500m"})
    ],
    "top({'a': quantity('250m'), 'b': quantity('1')}, 1), max({'a': quantity('1'), 'b': quantity('2')}.items(), key=lambda i: i[1])": [
        *([["b", 1]], ["b", 2])
    ],
    "max(quantity('100m') - quantity('1'), 0), min(quantity('1'), 0.5), quantity('1').is_integer(), quantity('1.5').is_integer()": [0, 0.5, True, False],
    "quantity(quantity('250m')), quantity(0.1), quantity(3), quantity(Decimal('0.1')), quantity(parse_quantity('1Ki'))": [0.25, 0.1, 3, 0.1, 1024],
    "import copy\nx = {'q': quantity('250m')}\ncopy.deepcopy(x), Row('a', quantity('1')), Pair(quantity('1'), 2)": [
        *({"q": 0.25}, {"name": "a", "count": 1}, {"left": 1, "right": 2})
    ],
    "import numbers\nisinstance(quantity('250m'), numbers.Number), [str(k) for k in {quantity('250m'): 1}], {quantity('1'): 'a'}": [True, ["0.25"], {"1": "a"}],
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


@cases.each(("snippet", "expected"), SNIPPETS.items())
def test_a_quantity_counts_as_a_number_does(snippet: str, expected: Any) -> None:
    """Exactly, beside int, float and Decimal, and as a plain number in the answer."""
    found = answer(LINES + snippet)
    assert found == expected and repr(found) == repr(expected)
