"""A caller who is limited to namespaces asks only a source that keeps them apart: before a real prom-label-proxy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest

from tests.kit import clients
from tests.kit.callers import Callers, connected
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines import prometheus
from tests.kit.engines.prom_label_proxy import LabelProxy

SERIES: Final = {'namespace="callers-shop",pod="cart"': 7, 'namespace="callers-payments",pod="till"': 9}
SETTINGS: Final = """
acts_as = "impersonate"
[[access]]
users = ["bob"]
namespaces = ["callers-shop"]
[[access]]
users = ["alice"]
[sources.apart]
kind = "prometheus"
url = "{apart}"
tenancy = "namespace"
[sources.unfiltered]
kind = "prometheus"
url = "{whole}"
"""
BOTH: Final = '{namespace=~".+", __name__="queue"}'


@pytest.fixture(scope="module")
def callers(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return Callers(scratch.kubeconfig, tmp_path_factory.mktemp("callers"))


@pytest.fixture
def port(prometheus3: Callable[..., prometheus.Prometheus], callers: Callers, tmp_path: Path) -> Iterator[int]:
    """A server with the same Prometheus twice: as it is, and behind the proxy."""
    server = prometheus3(openmetrics=prometheus.gauge("queue", SERIES))
    with (
        LabelProxy(tmp_path, server.url) as proxy,
        callers.serving(SETTINGS.format(apart=proxy.url, whole=server.url), callers.tokens()) as port,
    ):
        yield port


def test_a_limited_caller_sees_the_series_of_its_namespace_only(callers: Callers, port: int) -> None:
    """Whatever the query, and another namespace is refused; the source that shows all is not offered, and refuses. A
    caller without limits asks both."""

    async def ask(name: str, *scripts: str) -> list[str]:
        async with connected(port, callers.secrets[name]) as client:
            return [clients.text(await clients.evaluate(client, each)) for each in scripts]

    def pods(source: str, query: str, more: str = "") -> str:
        return f"sorted(s.labels['pod'] for s in k8s.source({source!r}).query({query!r}{more}))"

    shop, payments = (f", namespace='callers-{name}'" for name in ("shop", "payments"))
    own, all_own, others, summed, without, other, whole, targets = anyio.run(
        ask,
        "bob",
        pods("apart", "queue", shop),
        pods("apart", BOTH, shop),
        pods("apart", 'queue{namespace="callers-payments"}', shop),
        f"prom.query('sum(queue)'{shop})[0].value, prom.label_values('pod'{shop}), len(prom.series('queue'{shop}))",
        pods("apart", "queue"),
        pods("apart", "queue", payments),
        pods("unfiltered", "queue"),
        f"prom.targets({shop[2:]})",
    )
    assert [json.loads(each) for each in (own, all_own, others, summed)] == [*[["cart"]] * 3, [7, ["cart"], 1]]
    assert 'add namespace="..."' in without, without
    assert "policy.namespace" in other and "limited to the namespaces callers-shop" in other, other
    assert "there is no source 'unfiltered'; there are: apart" in whole, whole
    assert "it answers no targets and no metadata" in targets, targets
    everything, some = anyio.run(ask, "alice", pods("unfiltered", "queue"), pods("apart", "queue", payments))
    assert [json.loads(everything), json.loads(some)] == [["cart", "till"], ["till"]]


def test_the_definition_names_the_sources_that_a_caller_may_ask(callers: Callers, port: int) -> None:
    """And no other: a model would ask it in vain."""

    async def describe(name: str) -> str:
        async with connected(port, callers.secrets[name]) as client:
            (tool,) = (await client.list_tools()).tools
            return tool.description or ""

    limited, unlimited = anyio.run(describe, "bob"), anyio.run(describe, "alice")
    assert 'Each call of prom needs namespace="...".' in limited
    assert "prom" in limited and "unfiltered" not in limited and "unfiltered" in unlimited
