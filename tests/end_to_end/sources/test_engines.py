"""The servers that sources are tested with answer what they were given, and let in only whom they should."""

from __future__ import annotations

import datetime
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from kubescript_safety.controlplane import pki
from tests.kit import patience
from tests.kit.engines import prometheus, tempo
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.observed import ERRORS_MIN, Observed

Start = Callable[..., prometheus.Prometheus]
NOW: Final = int(time.time())
AGO: Final = datetime.datetime.fromtimestamp(NOW - 600, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
SERIES: Final = f"""\
# TYPE restarts gauge
restarts{{pod="a"}} 1 {NOW - 7200}
restarts{{pod="a"}} 4.5 {NOW - 60}
restarts{{pod="b"}} 2 {NOW - 60}
"""
RULES: Final[list[dict[str, Any]]] = [
    {"name": "shop", "rules": [{"alert": "Restarts", "expr": "restarts > 4", "labels": {"severity": "page"}}]}
]


@pytest.mark.parametrize("old", [False, True], ids=["3", "2.42"])
def test_prometheus_has_exactly_the_given_series_and_judges_its_rules(prometheus3: Start, old: bool) -> None:
    """Both versions answer the same, of hours ago and of now."""
    server = prometheus3(openmetrics=SERIES, rules=RULES, old=old)
    assert server.get("status/buildinfo")["version"].startswith("2.42." if old else "3.16.")
    now = server.get("query", query="sum by (pod) (restarts)", time=str(NOW))["result"]
    assert {each["metric"]["pod"]: each["value"] for each in now} == {"a": [NOW, "4.5"], "b": [NOW, "2"]}
    ago = server.get("query", query="restarts", time=str(NOW - 7200))["result"]
    assert [each["value"] for each in ago] == [[NOW - 7200, "1"]]
    server.wait_for_alerts("Restarts")


@pytest.mark.parametrize("old", [False, True], ids=["3", "2.42"])
def test_prometheus_lets_in_who_has_a_certificate_and_the_password(
    prometheus3: Start, tmp_path: Path, old: bool
) -> None:
    """TLS refuses a client without a certificate; a wrong password is told, and the right one answered."""
    web = prometheus.Web(pki.Authority(), certificates=True, password=True)
    trusting = ssl.create_default_context(cadata=web.authority.certificate.decode())
    web.authority.client("reader").write(tmp_path, "client")
    server = prometheus3(web=web, old=old)
    url = f"{server.url}/api/v1/labels"
    with pytest.raises(httpx2.TransportError):
        httpx2.get(url, verify=trusting, auth=(prometheus.USER, prometheus.PASSWORD))
    trusting.load_cert_chain(tmp_path / "client.crt", tmp_path / "client.key")
    assert httpx2.get(url, verify=trusting, auth=(prometheus.USER, "wrong")).status_code == 401
    assert httpx2.get(url, verify=trusting, auth=(prometheus.USER, prometheus.PASSWORD)).status_code == 200


def test_alertmanager_has_the_alerts_of_prometheus_and_a_silence_holds(
    prometheus3: Start, alertmanager: Alertmanager
) -> None:
    """An alert that a rule fires arrives; of two that were posted, the silenced one is suppressed."""
    posted = [{"labels": {"alertname": "Posted", "pod": pod}, "startsAt": AGO} for pod in "ab"]
    silence = alertmanager.silence({"pod": "b"}, NOW - 60, NOW + 3600, "known")
    alertmanager.post_alerts(posted)
    prometheus3(openmetrics=SERIES, rules=RULES, alertmanager=alertmanager.address)
    patience.until(lambda: len(alertmanager.get("alerts")) == 3)
    seen = {(each["labels"]["alertname"], each["labels"]["pod"]): each for each in alertmanager.get("alerts")}
    assert set(seen) == {("Posted", "a"), ("Posted", "b"), ("Restarts", "a")}
    assert seen["Posted", "b"]["status"]["silencedBy"] == [silence]
    assert [each["comment"] for each in alertmanager.get("silences")] == ["known"]
    assert seen["Posted", "a"]["startsAt"] == AGO


def test_loki_has_the_given_lines_at_their_times(loki: Loki) -> None:
    """Lines of a day ago and of now, filtered and counted, and the labels."""
    labels = {"namespace": "shop", "pod": "a"}
    loki.push(labels, [(NOW - 86400, "started"), (NOW - 120, "error: no memory"), (NOW - 60, "error: again")])
    loki.push({"namespace": "shop", "pod": "b"}, [(NOW - 60, "fine")])
    times = {"start": str(NOW - 90000), "end": str(NOW)}
    (found,) = loki.get("query_range", query='{namespace="shop"} |= "error"', **times)["result"]
    assert found["stream"] == labels
    assert found["values"] == [[f"{NOW - 60}000000000", "error: again"], [f"{NOW - 120}000000000", "error: no memory"]]
    counted = loki.get("query", query='sum by (pod) (count_over_time({namespace="shop"}[2d]))', time=str(NOW))
    assert {each["metric"]["pod"]: each["value"][1] for each in counted["result"]} == {"a": "3", "b": "1"}
    assert loki.get("label/pod/values", **times) == ["a", "b"]


def test_loki_shows_a_tenant_its_own_lines(tmp_path: Path) -> None:
    """Neither those of another one, nor any to who names none."""
    with Loki(tmp_path, tenants=True) as server:
        for tenant in ("red", "blue"):
            server.push({"app": "web"}, [(NOW, tenant)], tenant)
        query = {"query": '{app="web"}', "start": str(NOW - 60), "end": str(NOW + 60)}
        seen = server.get("query_range", "red", **query)["result"]
        assert [line for each in seen for _, line in each["values"]] == ["red"]
        assert httpx2.get(f"{server.url}/loki/api/v1/query_range", params=query).status_code == 401


def test_tempo_is_answered_from_recordings() -> None:
    """A search gives the traces of its time range, and an id its spans."""
    root = tempo.Span("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "GET /", "web", NOW - 60, 1.5)
    with tempo.Recorded([root]) as server:
        found = httpx2.get(f"{server.url}/api/search", params={"q": "{}", "start": NOW - 120, "end": NOW}).json()
        assert [(each["traceID"], each["durationMs"]) for each in found["traces"]] == [(root.trace, 1500)]
        assert httpx2.get(f"{server.url}/api/search", params={"q": "{}", "start": NOW - 30}).json()["traces"] == []
        (batch,) = httpx2.get(f"{server.url}/api/traces/{root.trace}").json()["batches"]
        assert batch["scopeSpans"][0]["spans"][0]["startTimeUnixNano"] == f"{NOW - 60}000000000"
        assert httpx2.get(f"{server.url}/api/traces/{root.id}").status_code == 404


def test_the_observed_incident_is_the_same_in_all_engines(observed: Observed) -> None:
    """The leak, the failing requests, the errors in the log and the alerts are about the same pods."""
    now = str(observed.now)
    near = observed.prometheus.get(
        "query", time=now, query="topk(3, container_memory_working_set_bytes / 2 ^ 20 > 400)"
    )
    leaking = {each["metric"]["pod"] for each in near["result"]}
    assert {each.labels["pod"] for each in observed.series if each.labels.get("service") == "checkout"} == leaking
    loaded = {tuple(sorted(each.labels.items())): each.points[-1] for each in observed.series if each.name == "up"}
    answered = observed.prometheus.get("query", time=now, query='up{job!="targets"}')["result"]
    for each in answered:
        del each["metric"]["__name__"]
    assert {tuple(sorted(each["metric"].items())): int(each["value"][1]) for each in answered} == {
        labels: value for labels, (_, value) in loaded.items()
    }
    errors = observed.loki.get("query", time=now, query='sum by (app) (count_over_time({app=~".+"} |= "error" [6h]))')
    counted = {each["metric"]["app"]: int(each["value"][1]) for each in errors["result"]}
    assert counted == {app: len(minutes) for app, minutes in ERRORS_MIN.items()}
    alerts = observed.alertmanager.get("alerts")
    about = {each["labels"]["pod"] for each in alerts if each["labels"]["alertname"] == "MemoryNearLimit"}
    assert about == leaking
    silenced = [each["labels"]["alertname"] for each in alerts if each["status"]["state"] == "suppressed"]
    assert silenced == ["TargetDown"]
    (failed,) = httpx2.get(f"{observed.tempo.url}/api/search").json()["traces"]
    assert any(failed["traceID"] in each.text and each.labels["pod"] in leaking for each in observed.lines)
