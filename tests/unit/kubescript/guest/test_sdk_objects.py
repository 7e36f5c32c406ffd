"""Views: every way a script may read or write a Kubernetes object."""

from __future__ import annotations

import copy
import datetime
import json
from typing import Any

import pytest

from kubescript.guest.sdk.objects import schemas, serialize, views
from tests.kit import cases
from tests.kit.sdk_transport import POD


def pod() -> Any:
    """A typed view of a pod."""
    return views.View(copy.deepcopy(POD), schemas.shape_of("V1Pod"))


def custom(**fields: Any) -> Any:
    """A view of an object without a model."""
    return views.View(
        {"metadata": {"name": "c", "creationTimestamp": "2026-01-02T03:04:05Z"}, **fields}, schemas.OBJECT
    )


def test_a_field_reads_the_same_by_every_spelling() -> None:
    """snake_case, camelCase, items of both and get() give one value."""
    status = pod().status
    assert {
        status.pod_ip,
        status.podIP,
        status["podIP"],
        status["pod_ip"],
        status.get("podIP"),
        status.get("pod_ip"),
    } == {"10.0.0.1"}
    assert "podIP" in status and "pod_ip" in status and "hostIP" not in status


def test_absent_known_fields_are_none_and_absent_collections_empty() -> None:
    """Loops over absent lists need no guard, and get() keeps its default."""
    web = pod()
    assert web.status.host_ip is None and web["status"]["hostIP"] is None
    assert list(web.spec.tolerations) == [] and dict(web.spec.node_selector) == {} and not web.spec.init_containers
    assert web.metadata.get("finalizers", "none") == "none"
    assert "tolerations" not in web.spec, "reading adds nothing"


@cases.each(
    ("read", "error", "hint"),
    [
        (lambda web: web.status.phse, AttributeError, "V1PodStatus has no field 'phse'; did you mean 'phase'"),
        (lambda web: web["status"]["phse"], KeyError, "did you mean 'phase'"),
        (lambda web: web.status.podIp, AttributeError, "did you mean 'pod_ip'"),
        (lambda web: web.metadata.labels["ap"], KeyError, "did you mean 'app'"),
        (
            lambda _: custom(spec={"replicas": 1}).spec.replica,
            AttributeError,
            "did you mean 'replicas'? If it may be absent",
        ),
        (lambda _: custom(status={"phase": "x"}).status["conditions"], KeyError, ".get('conditions')"),
    ],
)
def test_an_unknown_field_is_loud_and_names_the_nearest(read: Any, error: type[Exception], hint: str) -> None:
    """A typo never reads as None."""
    with pytest.raises(error) as raised:
        read(pod())
    assert hint in str(raised.value)


def test_fields_of_a_newer_api_server_are_readable() -> None:
    """Data the model does not know yet is not lost."""
    status = pod().status.container_statuses[0]
    assert status.futureField == status.future_field == status["futureField"] == 1


def test_timestamps_are_datetimes_by_attribute_and_text_otherwise() -> None:
    """As in the official client by attribute, as in the JSON by any other access; custom resources' metadata too."""
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    metadata = pod().metadata
    assert metadata.creation_timestamp == moment == custom().metadata.creation_timestamp
    assert (
        metadata.creationTimestamp
        == metadata["creation_timestamp"]
        == metadata.get("creationTimestamp")
        == "2026-01-02T03:04:05Z"
    )


def test_a_field_named_like_a_dict_method_is_both() -> None:
    """`config_map.items` is the list, `config_map.items()` the dict method; absent, it can still be written."""
    config_map = pod().spec.volumes[0].config_map
    assert [each.key for each in config_map.items] == ["k"]
    assert dict(config_map.items())["name"] == "cm"
    assert dict(pod().metadata.labels.items()) == {"app": "web"}
    assert custom(spec={"values": {"a": 1}}).spec.values.a == 1


def test_words_of_python_have_a_spelling() -> None:
    """`from` is `from_` or the official `_from`."""
    rule = views.View({"from": [{"podSelector": {}}]}, schemas.shape_of("V1NetworkPolicyIngressRule"))
    assert len(rule.from_) == len(rule._from) == len(rule["from"]) == 1


def test_a_view_is_a_mapping_to_python() -> None:
    """dict(), **, len, in, match and isinstance treat it as one."""
    labels = pod().metadata.labels
    assert dict(labels) == {**labels} == {"app": "web"} and len(labels) == 1 and list(labels) == ["app"]
    assert isinstance(labels, dict) and isinstance(pod().spec.containers, list)
    match pod().status:
        case {"phase": phase}:
            assert phase == "Running"


def test_writes_reach_the_object() -> None:
    """Attributes, items, labels of an object without labels, lists and deletions end up in the body."""
    web = pod()
    web.spec.nodeName = "n2"
    web["spec"]["restart_policy"] = "Never"
    web.spec.node_selector["disk"] = "ssd"
    web.spec.tolerations.append({"operator": "Exists"})
    web.spec.containers[0].image = "i:2"
    web.metadata.deletion_timestamp = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    del web.status
    body = json.loads(bytes(serialize.encode_body(web)))
    assert body["spec"]["nodeName"] == "n2" and body["spec"]["restartPolicy"] == "Never"
    assert body["spec"]["nodeSelector"] == {"disk": "ssd"} and body["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert (
        body["spec"]["containers"][0]["image"] == "i:2"
        and body["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    )
    assert "status" not in body


def test_writing_an_unknown_field_is_refused() -> None:
    """A typo in a write would otherwise be dropped by the API server in silence."""
    with pytest.raises(AttributeError, match="did you mean 'node_name'"):
        pod().spec.node_nam = "x"


def test_to_dict_is_plain_snake_case_and_goes_back_into_a_body() -> None:
    """Keys as officially, datetimes, None for absent known fields; sent as a body it is camelCase again."""
    found = pod().to_dict()
    assert type(found["status"]).__mro__[1] is dict and found["status"]["pod_ip"] == "10.0.0.1"
    assert found["status"]["host_ip"] is None and "host_ip" not in found["status"]
    assert found["metadata"]["creation_timestamp"].year == 2026
    assert json.loads(bytes(serialize.encode_body(found))) == POD


def test_equality_and_copies_are_by_value() -> None:
    """Two readings of one object are equal; a copy is independent."""
    web, other = pod(), pod()
    assert web == other == POD
    other = copy.deepcopy(web)
    other.spec.node_name = "n9"
    assert web != other and web.spec.node_name == "n1"


def test_repr_is_brief() -> None:
    """An object is one short line, a map is its content."""
    assert repr(pod()) == "<V1Pod shop/web Running>"
    assert str(pod().metadata.labels) == "{'app': 'web'}"


def test_views_hold_data_and_shapes_only() -> None:
    """Were the attribute guard to fall, a view leads to JSON and tables, never to a session or transport."""
    assert views.View.__struct_fields__ == ("_data", "_shape", "_home")
    assert all(not name.startswith("_") for name in dir(pod()))
