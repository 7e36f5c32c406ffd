"""Metrics, alerts, logs and traces in a script's hands: as models write it at the first try, over answers in the form
of each source's API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubescript.guest.sdk.compat import modules
from kubescript.guest.sdk.objects import helpers, schemas, serialize, views
from kubescript.guest.sdk.sources import kinds, named_objects
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins, stdlib
from tests.kit import cases, told
from tests.kit.sdk_transport import DISCOVERY, Exchange, cluster


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


def _data(kind: str, result: Any, **more: Any) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": result}, **more}


def _labels(pod: str) -> dict[str, str]:
    return {"namespace": "shop", "pod": pod}


_SPAN = {
    "spanId": "b", "parentSpanId": "a", "name": "SELECT", "startTimeUnixNano": "1790000000500000000",
    "endTimeUnixNano": "1790000002500000000",
    "attributes": {"db.rows": 7},
}  # fmt: skip
_ROOT = {"spanId": "a", "name": "POST /pay", "startTimeUnixNano": "1790000000000000000",
         "endTimeUnixNano": "1790000003000000000"}  # fmt: skip
_RESOURCE = {"attributes": {"service.name": "checkout"}}
ANSWERS: dict[str, Any] = {
    "prom/query": _data("vector", [
        {"metric": _labels("web"), "value": [1790000000.5, "1.5"]},
        {"metric": _labels("gone"), "value": [1790000000.5, "3"]},
        {"metric": _labels("idle"), "value": [1790000000.5, "NaN"]},
    ]),
    "prom/query_range": _data("matrix", [
        {"metric": _labels("web"), "values": [[1790000000, "4"], [1790000060, "1"], [1790000120, "NaN"], [1790000180, "7"]]},
        {"metric": _labels("gone"), "values": [[1790000000, "+Inf"], [1790000060, "-Inf"]]},
    ]),
    "scalars/query": _data("scalar", [1790000000, "42"], warnings=["partial data: one store is away"]),
    "texts/query": _data("string", [1790000000, "hello"]),
    "histograms/query": _data("vector", [{"metric": {}, "histogram": [1790000000, {"count": "3", "sum": "4"}]}]),
    "prom/series": {"status": "success", "data": [{"__name__": "up", "job": "web"}]},
    "prom/label_values": {"status": "success", "data": ["queue_a", "up"]},
    "prom/metadata": {"status": "success", "data": {"up": [{"type": "gauge", "help": "Is it up?", "unit": ""}]}},
    "prom/targets": {"status": "success", "data": {
        "activeTargets": [{"labels": {"job": "payments"}, "health": "down", "lastError": "refused"}], "droppedTargets": [],
    }},
    "prom/alerts": {"status": "success", "data": {"alerts": [
        {"labels": {"alertname": "Down", "team": "a", "node": "n1"}, "state": "pending", "activeAt": "2026-01-02T03:04:05Z"},
    ]}},
    "prom/rules": {"status": "success", "data": {"groups": [
        {"name": "shop", "lastEvaluation": "2026-01-02T03:04:06Z", "rules": [
            {"name": "Slow", "type": "alerting", "state": "pending", "query": "x > 1", "lastEvaluation": ""},
            {"name": "Full", "type": "alerting", "state": "firing", "query": "y", "lastEvaluation": "", "alerts": [{"labels": _labels("web")}]},
        ]}
    ]}},
    "alertmanager/alerts": [{
        "labels": {"alertname": "Slow", "severity": "critical", **_labels("web")}, "startsAt": "2026-01-02T03:04:05Z",
        "status": {"state": "suppressed", "silencedBy": ["s-1"], "mutedBy": []}, "receivers": [{"name": "team"}],
        "annotations": {"summary": "is slow"}, "fingerprint": "3f", "generatorURL": "http://prom/graph", "updatedAt": "2026-01-02T03:04:06Z",
    }],
    "alertmanager/silences": [{"id": "s-1", "createdBy": "ann", "status": {"state": "active"}}],
    "loki/query_range": _data("streams", [
        {"stream": _labels("web"), "values": [["1790000002000000001", "error: two"], ["1790000001000000000", "error: one"]]},
        {"stream": _labels("bad"), "values": [["1790000003000000000", "error: three", {"level": "error"}]]},
    ]),
    "tempo/search": {"traces": [{"traceID": "3f", "durationMs": 3000}, {"traceID": "4f"}], "metrics": {}},
    "tempo/trace": {"batches": [{"resource": _RESOURCE, "scopeSpans": [{"spans": [_SPAN, _ROOT]}]}]},
}  # fmt: skip
KINDS = {
    **dict.fromkeys(("prom", "scalars", "texts", "histograms", "away", "strange"), "prometheus"),
    **{kind: kind for kind in ("alertmanager", "loki", "tempo")},
}


class World:
    """A script's world with these sources; `printed` and `canned.calls` are what it did."""

    def __init__(self, **answers: Any) -> None:
        self.printed: list[str] = []
        known = {**ANSWERS, **answers}
        canned = {f"kubescript/sources/{path}": answer for path, answer in known.items()}
        self.k8s, self.canned = cluster({**DISCOVERY, **canned})
        session = self.k8s._session
        session.sources, session.tell = KINDS, self.printed.append

    def run(self, script: str) -> Any:
        """The script's answer, through JSON."""
        importable = {name: modules.VirtualModule(name, found) for name, found in modules.exports(self.k8s).items()}
        sources = {each: self.k8s.source(name) for each, name in kinds.first_of_each(KINDS).items()}
        extra = {"k8s": self.k8s, **sources, **helpers.GLOBALS}
        scope = builtins.build_globals(print_=lambda *_, **__: None, extra=extra, importable=importable)
        value = compiler.run(compiler.compile_script("import datetime, json, statistics\n" + script), scope)
        return json.loads(serialize.encode(value))

    def failure(self, script: str) -> str:
        """The error that the script ends with."""
        with pytest.raises(Exception) as caught:  # noqa: PT011  whatever the script raises
            self.run(script)
        kind, message = told.tell(caught.value, script)
        return f"{kind}: {message}"


@cases.each(
    ("script", "answer"),
    [
        # a value is a number, and a pair
        ("[s.value for s in prom.query('x')][:2], [float(s.value[1]) for s in prom.query('x')][:2]", [[1.5, 3], [1.5, 3]]),
        ("prom.query('x')[0].value[0], prom.query('x')[0]['value'][1], round(prom.query('x')[0].value, 0)", [1790000000.5, 1.5, 2]),
        ("f\"{prom.query('x')[0].value:.2f}\", json.dumps(prom.query('x')[0].value), prom.query('x')[0].value * 2", ["1.50", "1.5", 3]),
        ("s = prom.query('x')[0]\ns.metric['pod'], s.labels.get('node'), s['metric']['pod'], s.pod().spec.node_name", ["web", None, "web", "n1"]),
        ("[s.pod() and s.pod().spec.node_name for s in prom.query('x')]", ["n1", None, None]),
        # a range
        ("s = prom.query_range('x')[0]\n[[t, v] for t, v in s.values][:2], min(s.values), s.values[-1][1], s['values'][1][1]",
         [[[1790000000, 4], [1790000060, 1]], 1, 7, 1]),
        ("s = prom.query_range('x')[0]\ns.first, s.last, s.min, s.max, s.avg, s.delta, s.rate * 60, s.min.time", [4, 7, 1, 7, 4, 3, 1, 1790000060]),
        ("s = prom.query_range('x')[0]\nstatistics.mean(s.values[:2]), statistics.linear_regression(s.times[:2], s.values[:2]).slope", [2.5, -0.05]),
        ("[prom.query_range('x')[1].values, prom.query_range('x')[1].avg]", [["Infinity", "-Infinity"], "NaN"]),
        # results and tables are compact
        ("prom.query('x')[:1], {**prom.query('x')[1]}", [[{"namespace": "shop", "pod": "web", "value": 1.5}], {"namespace": "shop", "pod": "gone", "value": 3}]),
        ("prom.query_range('x')[0]", {"namespace": "shop", "pod": "web", "min": 1, "max": 7, "avg": 4, "last": 7}),
        ("table(prom.query('x'))", "pod   value\nweb   1.5\ngone  3\nidle  nan"),
        ("table(prom.query('x'), ['pod', 'value'], header=False), table(prom.query_range('x')[0])", [
            "web   1.5\ngone  3\nidle  nan", "namespace  pod  min  max  avg  last\nshop       web  1    7    4    7"]),
        ("[s.labels['pod'] for s in top(prom.query('x'), 2)], top(prom.query('x'), 'value', 1)[0].value", [["gone", "web"], 3]),
        ("table(loki.query_range('{a=\"b\"}'))",
         "time                  pod  line\n2026-09-21T14:13:23Z  bad  error: three\n2026-09-21T14:13:22Z  web  error: two\n2026-09-21T14:13:21Z  web  error: one"),
        # other results
        ("k8s.source('scalars').query('42')[0].value, k8s.source('texts').query('\"hello\"')", [42, "hello"]),
        ("[m for m in prom.label_values('__name__') if m.startswith('queue_')], prom.metadata()['up'][0]['help'], prom.metadata().get('x')",
         [["queue_a"], "Is it up?", None]),
        ("[{k: v for k, v in s.items()} for s in prom.series('up')], [t.lastError for t in prom.targets() if t.health != 'up' and t.labels.get('job')]",
         [[{"__name__": "up", "job": "web"}], ["refused"]]),
        ("[(g.name, r.state, r.get('labels'), r.alerts) for g in prom.rules(type='alert') for r in g.rules]", [["shop", "pending", None, None], ["shop", "firing", None, [{"labels": _labels("web")}]]]),
        ("a = alertmanager.alerts()[0]\na.labels['alertname'], a.status.state, a.startsAt, a.receivers[0].name, a.status.silencedBy, alertmanager.silences()[0].createdBy",
         ["Slow", "suppressed", "2026-01-02T03:04:05Z", "team", ["s-1"], "ann"]),
        # alerts, and what else has labels, find their objects; labels read as attributes everywhere
        ("a = alertmanager.alerts()[0]\na.pod().spec.node_name, a.object().kind, a.starts_at.year, a.labels.pod, prom.targets()[0].pod()",
         ["n1", "Pod", 2026, "web", None]),
        ("[r.alerts[0].object().metadata.name for g in prom.rules() for r in g.rules if r.alerts]", ["web"]),
        ("s = prom.query('x')[0]\ns.labels.pod, {**s.labels}, s.labels, json.dumps(s.labels)",
         ["web", _labels("web"), _labels("web"), json.dumps(_labels("web"))]),
        ("table(alertmanager.alerts() * 2)", "alert  severity  state     since                 labels\n"
         + "\n".join(["Slow   critical  silenced  2026-01-02T03:04:05Z  namespace=shop pod=web"] * 2)),
        # a short text, and a result without what costs tokens and tells nothing; both are there by name
        ("str(alertmanager.alerts()[0]), str(prom.alerts()[0]), alertmanager.alerts()[0].generatorURL",
         ['<alert Slow{severity="critical", namespace="shop", pod="web"} silenced since 2026-01-02T03:04:05Z: is slow>',
          '<alert Down{team="a", node="n1"} pending since 2026-01-02T03:04:05Z>', "http://prom/graph"]),
        ("g = prom.rules()[0]\nstr(g), [str(r) for r in g.rules]",
         ["<rules shop: Slow pending, Full firing>", ["<rule Slow pending: x > 1>", "<rule Full firing: y>"]]),
        ("alertmanager.alerts()", [{
            "labels": {"alertname": "Slow", "severity": "critical", **_labels("web")}, "startsAt": "2026-01-02T03:04:05Z",
            "status": {"state": "suppressed", "silencedBy": ["s-1"], "mutedBy": []}, "receivers": [{"name": "team"}],
            "annotations": {"summary": "is slow"},
        }]),
        ("table(prom.alerts())", ("alert  severity  state    since                 labels\n"
         "Down   -         pending  2026-01-02T03:04:05Z  node=n1 team=a")),
        ("[s.lines[0] for s in loki.query('{a=\"b\"}')]", ["error: two", "error: three"]),
        ("s = loki.query_range('{a=\"b\"}')[0]\ns.stream['pod'], [(int(t), line) for t, line in s['values']][0], s.lines[1], s.values[1].time",
         ["web", [1790000002000000001, "error: two"], "error: one", "2026-09-21T14:13:21Z"]),
        ("loki.query_range('{a=\"b\"}')[0]", {"namespace": "shop", "pod": "web", "lines": ["error: two", "error: one"]}),
        ("t = sorted(tempo.search('{}'), key=lambda t: -t.durationMs)\n[each.traceID for each in t]", ["3f", "4f"]),
        ("t = tempo.trace('3f')\n[(s.service, s.name, s.duration_ms, s.attributes.get('db.rows'), s.resource['service.name']) for s in t.spans]",
         [["checkout", "POST /pay", 3000, None, "checkout"], ["checkout", "SELECT", 2000, 7, "checkout"]]),
        ("[(b.resource.attributes['service.name'], b.scopeSpans[0].spans[0].get('parentSpanId')) for b in tempo.trace('3f').batches]", [["checkout", "a"]]),
        ("k8s.parallel([(prom.query, 'x'), lambda: loki.query_range('{a=\"b\"}')])[0][0].value", 1.5),
    ],
)  # fmt: skip
def test_scripts_as_models_write_them(script: str, answer: object) -> None:
    """Give these answers."""
    assert World().run(script) == answer


def test_labels_find_objects_in_one_list_of_a_namespace() -> None:
    """However many series name its pods; labels that name nothing find nothing."""
    world = World()
    assert world.run("[bool(s.pod()) for s in prom.query('x')], [bool(s.object()) for s in prom.query('x')]") == [
        *([True, False, False], [True, False, False])
    ]
    lists = [call for call in world.canned.calls if call.path[-1] == "pods"]
    assert len(lists) == 1
    answer = _data("vector", [{"metric": {"job": "web", "instance": "10.0.0.1"}, "value": [1, "1"]}])
    assert World(**{"prom/query": answer}).run("prom.query('x')[0].object()") is None


def test_an_alert_of_another_shape_is_printed_too() -> None:
    """It costs no other alert its line, and a label cannot look like a further one; a rule's line says why it fails."""
    odd = {"labels": {"alertname": "Odd", "a": '"}\n<alert'}, "state": "firing", "activeAt": "now", "status": None}
    failed = {"name": "Slow", "state": "inactive", "query": "x", "lastError": "many-to-many", "lastEvaluation": ""}
    world = World(**{
        "prom/alerts": {"status": "success", "data": {"alerts": [odd, {**odd, "status": {}}]}},
        "prom/rules": {"status": "success", "data": {"groups": [{"name": "a", "rules": [failed]}]}},
    })  # fmt: skip
    assert world.run("[str(a) for a in prom.alerts()]") == ['<alert Odd{a="\\"}\\n<alert"} firing since now>'] * 2
    assert world.run("str(prom.rules()[0].rules[0])") == "<rule Slow inactive (many-to-many): x>"


@pytest.mark.parametrize(
    "keys", ["lastEvaluation query", "evaluationTime lastEvaluation", "fingerprint generatorURL updatedAt"]
)
def test_an_object_of_the_cluster_is_shown_whole_whatever_its_keys(keys: str) -> None:
    """The keys of a ConfigMap are a user's: they hide nothing of it, neither in a text nor in a result."""
    data = {**dict.fromkeys(keys.split(), "x"), "run.sh": "rm"}
    view = views.wrap({"data": data}, schemas.OBJECT)
    assert str(view["data"]) == repr(data) and serialize.to_plain(view) == {"data": data}


def test_labels_find_the_most_particular_object() -> None:
    """An alert about a Service of a namespace finds the Service, and one about its claim finds the claim."""
    found = named_objects.NamedObjects(lambda kind, namespace: [{"kind": kind, "metadata": {"name": "checkout"}}])
    for label, kind in (("service", "services"), ("persistentvolumeclaim", "persistentvolumeclaims"), ("pod", "pods")):
        assert found.find({"namespace": "checkout", label: "checkout"})["kind"] == kind
    assert found.find({"namespace": "checkout"})["kind"] == "namespaces"


@cases.each(
    ("script", "sent"),
    [
        ("prom.query('up', time='-1h')", {"query": "up", "time": "-3600"}),
        ("prom.queryRange('up', datetime.datetime(2026, 9, 21, 14), '2026-09-21T15:13:20+01:00', datetime.timedelta(minutes=1))",
         {"query": "up", "start": "1789999200", "end": "1790000000", "step": "60"}),
        ("prom.query_range('up', 1790000000123, 'now', '1h30m')", {"query": "up", "start": "1790000000.123", "end": "-0", "step": "5400"}),
        ("prom.query_range('up', start='now - 1d', end=datetime.timedelta(hours=2))", {"query": "up", "start": "-86400", "end": "-7200"}),
        ("prom.query('up', namespace='shop')", {"query": "up", "namespace": "shop"}),
        ("alertmanager.alerts(active=True, silenced=False, filter={'severity': 'critical'})",
         {"filter": 'severity="critical"', "active": "true", "silenced": "false"}),
        ("loki.query_range('{}', start=1790000000000000000, limit=5, direction='forward')",
         {"query": "{}", "start": "1790000000", "limit": "5", "direction": "forward"}),
    ],
)  # fmt: skip
def test_arguments_become_text(script: str, sent: dict[str, str]) -> None:
    """Times in any usual form, durations, booleans and matchers."""
    world = World()
    world.run(script + "\n0")
    assert dict(world.canned.last.query) == sent


def test_a_matcher_may_be_several() -> None:
    """Each is an argument of its own."""
    world = World()
    world.run("prom.series(['up', 'down'])")
    assert world.canned.last.query == (("match", "up"), ("match", "down"))


def _refusal(status: int, body: object) -> Exchange:
    return Exchange(body if isinstance(body, bytes) else json.dumps(body).encode(), status)


@cases.each(
    ("script", "message"),
    [
        ("prom.query('x', time='yesterday')", "ValueError: time='yesterday' is not a datetime, ISO text, seconds since the epoch, \"now\" or \"-1h\""),
        ("prom.query_range('x', step='often')", "ValueError: step='often' is not a timedelta, seconds, or text such as \"5m\""),
        ("prom.query_range('x', start=[1])", "TypeError: start is a datetime"),
        ("prom.query(5.5)", "TypeError: query is text, not a float"),
        ("prom.range_query('x')", "prom has no 'range_query'; did you mean 'query'? it has alerts, label_values, labels, metadata, query, query_range, rules, series, targets"),
        ("prom.qurey('x')", "prom has no 'qurey'; did you mean 'query'? it has"),
        ("prom.query_range('x', stp=60)", "TypeError: prom.query_range() has no argument 'stp'; did you mean 'step'?"),
        ("prom.query('x', timeout=9)", "prom.query() has no argument 'timeout'; did you mean 'time'?"),
        ("loki.query('{a=\"b\"}', time='-1h')", "ValueError: lines have no single time: write loki.query_range(q, start=..., end=...)"),
        ("prom.query('x')[0].lables", "this Series has no 'lables'; did you mean 'labels'?"),
        ("prom.query('x')[0].labels.podd", "there is no label 'podd'; did you mean 'pod'?"),
        ("k8s.source('promm')", "ValueError: there is no source 'promm'; did you mean 'prom'?"),
        ("prom.query('x')[0].labels['podd']", "KeyError: 'podd'"),
        ("prom.query('x')[0].namespace", "this Series has no 'namespace'; write .labels['namespace']"),
        ("prom.query('x')[0]['podd']", "this Series has no 'podd'; did you mean 'pod'?"),
        ("prom.query('x')[0].node", "this Series has no 'node'; there are: avg, delta, first, labels,"),
        ("k8s.source('histograms').query('x')[0].value", "this series is a native histogram, which has no single value: ask for histogram_quantile"),
    ],
)  # fmt: skip
def test_mistakes_of_a_script(script: str, message: str) -> None:
    """Say what to write instead; the next call works."""
    world = World()
    assert message in world.failure(script)
    assert world.run("prom.query('x')[0].value") == 1.5


@cases.each(
    ("answer", "message"),
    [
        (_refusal(400, {"status": "error", "errorType": "bad_data", "error": "parse error:\n unexpected end"}),
         "BadRequestException: 400 Bad Request: k8s.source('away').query: parse error: unexpected end"),
        (_refusal(400, b"log queries are not supported as an instant query type\n"),
         "as an instant query type; write loki.query_range(q, ...) for lines; loki.query(q) counts them"),
        (_refusal(403, b"user cannot get resource"), "ForbiddenException: 403 Forbidden: k8s.source('away').query: user cannot get resource"),
        (_refusal(404, b"404 page not found"), "NotFoundException: 404 Not Found: k8s.source('away').query: 404 page not found"),
        (_refusal(503, b'"down"'), "ServiceException: 503 Service Unavailable: k8s.source('away').query: down"),
        (Exchange(b"<html>"), "k8s.source('away').query: the answer is not what a source of this kind sends"),
        ({"status": "success", "data": []}, "k8s.source('away').query: the answer is not what a source of this kind sends"),
    ],
)  # fmt: skip
def test_what_a_source_says(answer: Any, message: str) -> None:
    """Reaches the model in one line, without advice about kinds and RBAC; the next call works."""
    world = World(**{"away/query": answer})
    found = world.failure("k8s.source('away').query('x')")
    assert message in found and "RBAC" not in found and "kind;" not in found and "\n" not in found
    assert world.run("prom.query('x')[0].value") == 1.5


EVIL = """
class Equal(str):
    def __eq__(self, other): return True
    def __hash__(self): return hash("prom")
"""


def test_a_text_that_equals_every_name_reads_nothing_private() -> None:
    """A script's class of str may claim anything; what it reads is a part that is named."""
    world = World()
    assert world.run(EVIL + "prom.query('x')[0][Equal('_objects')] == prom.query('x')[0].labels")
    assert "there is no source 'x'" in world.failure(EVIL + "k8s.source(Equal('x'))")


def test_no_field_of_a_line_takes_the_place_of_its_time() -> None:
    """A table has the entries' own times and lines, whatever labels `| json` has made of a line."""
    forged = {"stream": {"time": "FORGED", "line": "FORGED"}, "values": [["1790000000000000000", "one"]]}
    world = World(**{"loki/query_range": _data("streams", [forged])})
    assert world.run("table(loki.query_range('{}'))") == "time                  line\n2026-09-21T14:13:20Z  one"


def test_a_source_of_another_cluster() -> None:
    """Is asked there, and its errors name the cluster."""
    world = World(**{"away/query": _refusal(503, b"down")})
    world.k8s._announce(("a", "b"))
    assert world.run("k8s.context('b').source('loki').query_range('{}')[0].lines[1]") == "error: one"
    assert world.canned.last.context == "b"
    assert "b: k8s.source('away').query: down" in world.failure("k8s.context('b').source('away').query('x')")
    assert world.run("prom.query('x')[0].value") == 1.5 and world.canned.last.context == "a"


def test_warnings_are_told() -> None:
    """An answer that lacks something must not pass for a whole one."""
    world = World()
    world.run("k8s.source('scalars').query('42')")
    assert world.printed == ["k8s.source('scalars').query warns: partial data: one store is away"]


def test_help_is_short() -> None:
    """A few lines with examples for each kind, by the names that scripts have, whatever the operator's are."""
    world = World()
    world.k8s._session.sources = {"metrics": "prometheus", "alerts": "alertmanager", "logs": "loki", "traces": "tempo"}
    for name, kind in zip(world.k8s._session.sources, ("prom", "alertmanager", "loki", "tempo"), strict=True):
        text = repr(world.k8s.source(name))
        assert (
            text.startswith(f"{kind}: ")
            and f"\n{kind}." in text
            and f"{name}." not in text
            and text.count("\n") < 8
            and len(text) < 1_000
        ), kind
