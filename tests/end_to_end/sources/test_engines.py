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
from tests.kit.engines import prometheus
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki

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
