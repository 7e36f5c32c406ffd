"""The generated tables say what the installed official client does, all of it, and nothing is out of date."""

from __future__ import annotations

import inspect
import re
import runpy
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from kubernetes import client as official

from kubescript import errors
from kubescript.changes.rules import table, writes
from kubescript.guest.sdk.values import operations
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import exchanges
from tests.kit import cases, paths

SCRIPTS = paths.ROOT / "scripts"
TRANSPORT = {
    "self",
    "async_req",
    "_return_http_data_only",
    "_preload_content",
    "_request_timeout",
    "_request_auth",
    "_content_type",
    "_headers",
    "_host_index",
}
APIS = sorted(name for name in dir(official) if name.endswith("Api"))


def official_methods(api: str) -> dict[str, object]:
    """The public operations of one official class, found without the generator."""
    members = inspect.getmembers(getattr(official, api), inspect.isfunction)
    return {
        name: method
        for name, method in members
        if not name.startswith("_") and name != "close" and not name.endswith("_with_http_info")
    }


def official_source(api: str, method: str) -> str:
    """The generated source that builds a method's request."""
    return inspect.getsource(getattr(getattr(official, api), f"_{method}_serialize"))


@cases.each("api", APIS)
def test_every_official_method_is_in_the_table_with_its_parameters_path_and_verb(api: str) -> None:
    """Signature, path, verb and wire names agree with the client's source, read independently of the generator."""
    methods = official_methods(api)
    assert set(operations.operations(api)) == set(methods)
    for name, method in methods.items():
        operation, source = operations.operation(api, name), official_source(api, name)
        parameters = {k: v for k, v in inspect.signature(method).parameters.items() if k not in TRANSPORT}  # type: ignore[arg-type]
        assert operation.parameters == tuple(parameters)
        assert operation.required == sum(each.default is inspect.Parameter.empty for each in parameters.values())
        assert (operation.verb, operation.path) == (
            re.search(r"method='(\w+)'", source)[1],  # type: ignore[index]
            re.search(r"resource_path='(.*)'", source)[1],  # type: ignore[index]
        )
        for wire, argument in re.findall(r"_query_params\.append\(\('(\w+)', (\w+)\)\)", source):
            assert operation.query(argument)[0] == wire
        for argument in operation.path_parameters:
            assert argument in operation.parameters[: operation.required]


def test_nothing_but_the_official_apis_and_metrics_is_in_the_table() -> None:
    """The only class of our own is metrics.k8s.io, which the official client lacks."""
    assert set(operations.apis()) - set(APIS) == {"MetricsV1beta1Api"}


@pytest.mark.slow  # all modules of the official client
def test_every_official_model_is_in_the_table_with_its_fields() -> None:
    """Attribute names, JSON names and types agree with attribute_map and openapi_types."""
    from kubescript.guest.sdk.compat import models

    for name in dir(official):
        model = getattr(official, name)
        if hasattr(model, "openapi_types"):
            ours = models.Model(name)
            assert ours.openapi_types == model.openapi_types
            assert ours.attribute_map == model.attribute_map


@pytest.mark.timeout(600)  # five programs, one after the other
@cases.each(
    "script",
    [
        "generate_operations.py",
        "generate_sdk_docs.py",
        "generate_sentences.py",
        "generate_roles.py",
        "generate_values_schema.py",
        "generate_figures.py",
    ],
)
def test_generated_files_are_up_to_date(script: str) -> None:
    """Running the generator again gives the same bytes."""
    assert subprocess.run([sys.executable, str(SCRIPTS / script), "--check"], check=False).returncode == 0


def test_the_documentation_lists_what_can_work() -> None:
    """Every method that no setting allows is missing from its page, and no other is."""
    docs = runpy.run_path(str(SCRIPTS / "generate_sdk_docs.py"))
    for api in operations.apis():
        page = docs["client_page"](api)
        listed = {name for name in operations.operations(api) if f"**{name}**(" in page}
        assert listed == {name for name in operations.operations(api) if _can_work(operations.operation(api, name))}, (
            api
        )
        assert len(listed) == len(operations.operations(api)) or "efused" in page.split("- **")[0], api


def _can_work(operation: operations.Operation) -> bool:
    """Whether a server that permits all it can would send the request."""
    if operation.verb in {"HEAD", "OPTIONS"}:
        return False  # the protocol has no such methods
    path = re.sub(r"[{}_]", "", operation.path.strip("/"))
    rules = policy.Policy(writes="direct", defaults=(), resolve=lambda *_: "Thing")
    lifted = writes.Policy(levels={rule.id: "allow" for rule in table.RULES})
    media: Any = "merge-patch" if operation.verb == "PATCH" else "json"
    body = exchanges.NO_BODY if operation.verb == "GET" else msgspec.Raw(b'{"metadata":{"name":"x"}}')
    call = exchanges.Call(operation.verb, tuple(path.split("/")), (), body, media)  # type: ignore[arg-type]
    try:
        parsed = request.parse(call)
    except errors.RequestError:
        return False
    verdict = rules.decide(parsed).verdict
    return verdict == "allow" or (verdict == "direct" and writes.find_objection(parsed, lifted) is None)


def test_the_documentation_stays_small() -> None:
    """sdk_docs is below 1 MB."""
    pages = runpy.run_path(str(SCRIPTS / "generate_sdk_docs.py"))["pages"]()
    assert sum(len(text) for text in pages.values()) < 1_000_000
