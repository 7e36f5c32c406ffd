"""quantity, age, table and top: what a script gets of them, by its own lines."""

from __future__ import annotations

import pytest

from kubescript_sandbox.library import stdlib
from tests.kit import cases
from tests.kit.two_pods import answer, run


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


QUANTITIES: dict[str, object] = {
    "'250m'": 0.25, "'1Gi'": 1073741824, "'1.5Gi'": 1610612736, "'2'": 2, "'1e3'": 1000, "'100n'": 1e-07, "'64Mi'": 67108864,
    "'1500m'": 1.5, "'2000m'": 2, "'12k'": 12000, "'1M'": 1000000, "None": 0, "''": 0, "7": 7, "0.5": 0.5, "' 1Ki '": 1024,
    "parse_quantity('250m')": 0.25, "'-1'": -1, "'0'": 0, "pod.spec.containers[0].resources.limits['cpu']": 0.5,
}  # fmt: skip


@cases.each(("text", "number"), QUANTITIES.items())
def test_a_quantity_is_a_number(text: str, number: object) -> None:
    """A number that prints and goes out as an int when it is whole, else as a float; what is missing counts nothing."""
    found = run(f"quantity({text})")
    assert found == number and repr(found) == repr(number) and number == answer(f"quantity({text})")


def test_quantities_mix_with_floats() -> None:
    """A Decimal would not; nor does the script's own decimal context change them."""
    assert answer("sum(map(quantity, ['250m', '1', None])) / 2 + 0.5 * quantity('1Gi')") == 0.625 + 536870912
    assert answer("import decimal\ndecimal.getcontext().prec = 2\n[quantity('1234567'), parse_quantity('1Ki')]") == [
        *(1234567, 1024)
    ]


@cases.each(
    ("script", "text"),
    [
        (
            "quantity('lots')",
            "'lots' is no quantity; one is a number with n, u, m, k, M, G, T, P, E, Ki, Mi, Gi… or nothing after",
        ),
        ("quantity('nan')", "'nan' is no quantity"),
        ("quantity('1e999999')", "'1e999999' is no quantity"),
        ("quantity(pod.spec.containers[0].resources.limits)", "take one of them: quantity(x['cpu'])"),
        ("quantity([1])", "one text or number, not a list"),
        ("age('yesterday')", "'yesterday' is no time; one is 2026-01-02T03:04:05Z"),
        ("age(5)", "age() takes an object, a datetime or ISO text, not a int"),
        ("age({'a': 1})", "this has no metadata.creationTimestamp; pass a time, such as age(pod.status.start_time)"),
        ("table('text')", "take a list of rows, not text"),
        ("table([{'name': 1}], ['nmae'])", "no row has 'nmae'; did you mean 'name'?"),
        ("table([pod], ['spec.nodeNam'])", "V1PodSpec has no field 'nodeNam'; did you mean 'node_name'?"),
        ("table([Row('a')], ['size'])", "has no attribute 'size'"),
        ("table([1], colums=['a'])", "table() has no parameter 'colums'"),
        ("top([{'count': 1}], 'cuont')", "no row has 'cuont'; did you mean 'count'?"),
        ("top([{'count': 1}])", "name the field to sort by"),
        ("top([{'a': '1'}, {'a': [2]}], 'a')", "the keys are of different types"),
        ("top([{'a': 'x'}, {'a': 2}], 'a')", "the keys are partly text, partly numbers"),
        ("top([1], object())", "a function, not a object"),
    ],
)
def test_what_does_not_fit_is_told(script: str, text: str) -> None:
    """One sentence with the nearest right thing; the next script is unharmed."""
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError)) as raised:
        run(script)
    assert text in str(raised.value)
    assert run("quantity('1')") == 1


AGES = {
    "seconds=45": "45s", "seconds=119": "119s", "minutes=5": "5m", "minutes=5, seconds=7": "5m7s", "minutes=12": "12m",
    "minutes=179": "179m", "hours=3": "3h", "hours=7, minutes=30": "7h30m", "hours=20": "20h", "hours=47": "47h", "days=3, hours=4": "3d4h",
    "days=3": "3d", "days=8": "8d", "days=400": "400d", "days=800": "2y70d", "days=365 * 9": "9y", "seconds=0": "0s",
    "days=-12": "-12d", "seconds=-0.4": "0s",
}  # fmt: skip


@cases.each(("span", "text"), AGES.items())
def test_an_age_reads_as_kubectl_prints_it(span: str, text: str) -> None:
    """The steps are those of kubectl's AGE column; what lies ahead has a minus."""
    assert run(f"str(age(timedelta({span})))") == text


AGE_LINES: dict[str, object] = {
    "age(pod) > timedelta(days=1), age(pod) > age('2030-01-01T00:00:00Z')": [True, True],
    "f'{age(timedelta(days=3)):>5}|{age(timedelta(1))}|{age(timedelta(1))!r}'": "   3d|24h|24h",
    "[age(timedelta(hours=1)) + timedelta(hours=1), age(timedelta(2)) - timedelta(1), -age(timedelta(days=9)), abs(age(timedelta(days=-9)))]": [
        *("120m", "24h", "-9d", "9d")
    ],
    "sum([age(timedelta(days=1)), age(timedelta(days=2))])": "3d",
    "age(timedelta(hours=5)) / timedelta(hours=2), age(timedelta(days=4)) / 2, 2 * age(timedelta(days=2))": [2.5, "2d", "4d"],
    "max([age(None), age(timedelta(1))])": "24h",
    "age(None), bool(age(None)), age(None) < timedelta(seconds=1), age(pod.status.start_time), age('')": [
        *("<unknown>", False, True, "<unknown>", "<unknown>")
    ],
    "age(pod).days == age(pod.to_dict()).days == age(pod.metadata).days == age(pod.metadata.creationTimestamp).days": True,
    "[age(datetime(2020, 1, 1)).days > 2000, age(datetime.now(timezone.utc).date()) < timedelta(days=2)]": [True, True],
    "sorted([age(timedelta(days=9)), age(timedelta(hours=1))])": ["60m", "9d"],
    "isinstance(age(pod), timedelta), age(timedelta(1)) == timedelta(1), {age(timedelta(1)): 1}[timedelta(1)]": [True, True, 1],
    "datetime(2026, 1, 2) - age(timedelta(days=1)) == datetime(2026, 1, 1)": True,
    "age(timedelta(minutes=90)).total_seconds()": 5400,
    "json.dumps({'a': str(age(timedelta(1)))})": '{"a": "24h"}',
    "import copy\n[copy.deepcopy(age(timedelta(1))), copy.copy(age(timedelta(1)))]": ["24h", "24h"],
}  # fmt: skip


@cases.each(
    ("script", "expected"),
    [(f"import datetime as dt\nfrom datetime import datetime\n{k}", v) for k, v in AGE_LINES.items()],
)
def test_an_age_is_a_timedelta(script: str, expected: object) -> None:
    """It compares, adds, formats and is returned like kubectl's text; None is zero and says that it is unknown."""
    assert answer(script) == expected


TABLES = {
    "[{'name': 'a', 'n': 1}, {'name': 'bcd', 'x': None}]": "name  n  x\na     1  -\nbcd   -  -",
    "[('a', 1), ('b', 22)]": "a  1\nb  22",
    "[('a', 1), ('b', 22)], ['name', 'n']": "name  n\na     1\nb     22",
    "[('a', 1)], headers=['name', 'n']": "name  n\na     1",
    "[Row('a', 2)]": "name  count\na     2",
    "[Pair(1, [2, 3])]": "left  right\n1     2,3",
    "[]": "(no rows)",
    "None": "(no rows)",
    "[1, 2]": "1\n2",
    "(n for n in 'ab')": "a\nb",
    "Counter(['x', 'x', 'y'])": "x  2\ny  1",
    "{'a': {'n': 1}, 'b': {'n': 2}}": "key  n\na    1\nb    2",
    "[{'a': 1, 'b': 'x\\ty\\n\\nz'}], tsv=True": "a\tb\n1\tx y z",
    "[{'a': 'x' * 200}], width=10": "a\nxxxxxxxxx…",
    "[{'a': 0.1 + 0.2, 'b': 1234567.891, 'c': 2.0, 'd': 0.00001234}]": "a    b            c  d\n0.3  1234567.891  2  1.23e-05",
    "[{'a': True, 'b': [], 'c': {}, 'd': {'k': 'v'}, 'e': {3, 1}}]": "a     b  c  d    e\nTrue  -  -  k=v  1,3",
    "[{'a': datetime.datetime(2026, 1, 2, tzinfo=timezone.utc), 'b': timedelta(days=9)}]": "a                     b\n2026-01-02T00:00:00Z  9d",
    "[{'a': 1}], header=False": "1",
    "[pod], ['metadata.name', 'spec.nodeName', 'status.podIP', 'spec.containers.image', 'metadata.labels.app', 'spec.tolerations']": (
        "metadata.name  spec.nodeName  status.podIP  spec.containers.image  metadata.labels.app  spec.tolerations\n"
        "web            n1             10.0.0.1      i:1                    web                  -"
    ),
    "[pod], {'pod': 'name', 'restarts': 'status.containerStatuses[0].restartCount', 'n': lambda p: len(p.spec.containers)}": (
        "pod  restarts  n\nweb  3         1"
    ),
    "core.list_namespaced_pod('shop'), ['name', 'metadata.labels.app.kubernetes.io/name', 'status']": (
        "name  metadata.labels.app.kubernetes.io/name  status\nweb   -                                       Running\n"
        "bad   bad                                     CrashLoopBackOff"
    ),
    "[pod.to_dict()], ['metadata.name', 'status.pod_ip', 'status.podIP']": (
        "metadata.name  status.pod_ip  status.podIP\nweb            10.0.0.1       10.0.0.1"
    ),
    "pod.spec.containers, ['name', 'resources.limits.cpu', 'resources.requests']": "name  resources.limits.cpu  resources.requests\napp   500m                  -",
    "[{'pod': pod, 'e': ValueError('x')}]": "pod  e\nweb  x",
    "[{'a': 1}], 'a'": "a\n1",
}


@cases.each(("arguments", "text"), TABLES.items())
def test_a_table_is_compact(arguments: str, text: str) -> None:
    """Columns only as wide as they must be, a line for each row, "-" for what is not there."""
    assert run(f"table({arguments})") == text


def test_a_table_of_objects_is_what_kubectl_prints() -> None:
    """Without columns: where, name, state in a word, age."""
    lines = [line.split() for line in run("table(core.list_namespaced_pod('shop'))").splitlines()]
    assert [line[:3] for line in lines] == [
        *(["namespace", "name", "status"], ["shop", "web", "Running"], ["shop", "bad", "CrashLoopBackOff"])
    ]
    assert lines[0][3] == "age" and lines[1][3][-1] in "dhms"
    assert run("table(pod)").splitlines()[1].startswith("shop       web   Running")


TOPS: dict[str, object] = {
    "top([3, 1, 2], n=2)": [3, 2],
    "top([{'n': 1}, {'n': 5}, {'n': None}, {}], 'n')": [{"n": 5}, {"n": 1}, {"n": None}, {}],
    "top([{'n': 1}, {'n': 5}, {}], 'n', reverse=True)": [{"n": 1}, {"n": 5}, {}],
    "[p.name for p in top(core.list_namespaced_pod('shop'), 'status.containerStatuses[0].restartCount', 1)]": ["bad"],
    "[p.name for p in top(core.list_namespaced_pod('shop'), key=lambda p: p.status.container_statuses[0].restart_count)]": ["bad", "web"],
    "top(Counter(a=1, b=3, c=2), n=2)": [["b", 3], ["c", 2]],
    "top(Counter(a=1, b=3), 1)": [["b", 3]],
    "top([('a', 1), ('b', 3)], 1, 1)": [["b", 3]],
    "top([('a', 1), ('b', 3)], n=1)": [["b", 3]],
    "top([{'cpu': '250m'}, {'cpu': '1'}, {'cpu': '90m'}], 'cpu')": [{"cpu": "1"}, {"cpu": "250m"}, {"cpu": "90m"}],
    "top([{'m': '9'}, {'m': '10'}], 'm', 1)": [{"m": "10"}],
    "top(['b', 'c', 'a'], n=2)": ["c", "b"],
    "top([], 'x')": [],
    "top(range(30))": [29, 28, 27, 26, 25, 24, 23, 22, 21, 20],
    "len(top(range(30), n=None))": 30,
    "[r.name for r in top([Row('a', 1), Row('b', 2)], 'count')]": ["b", "a"],
    "top([{'a': timedelta(1)}, {'a': timedelta(2)}], 'a', 1)[0]['a']": "2 days, 0:00:00",
    "table(top([{'n': 1, 'x': 'a'}, {'n': 2, 'x': 'b'}], 'n', 1))": "n  x\n2  b",
}  # fmt: skip


@cases.each(("script", "expected"), TOPS.items())
def test_top_gives_the_rows_with_the_most(script: str, expected: object) -> None:
    """Highest first, what has no key last; texts that are quantities count as such."""
    assert answer(script) == expected


@cases.each("name", ["quantity", "age", "table", "top", "parse_quantity", "parseQuantity", "to_quantity"])
def test_the_helpers_are_attributes_of_k8s_too(name: str) -> None:
    """Under their names, and those that scripts guess."""
    assert run(f"callable(k8s.{name})")


def test_dir_lists_the_helpers() -> None:
    """`dir(k8s)` is where a model looks."""
    assert {"quantity", "age", "table", "top", "explain", "search", "get", "coreV1"} <= set(run("dir(k8s)"))
