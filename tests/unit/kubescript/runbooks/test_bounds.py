"""The bounds within which a runbook's plan needs no person: each is broken alone, and named."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pydantic
import pytest

from kubescript import config
from kubescript.auth import user as users
from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import plain
from kubescript.runbooks import preapproval
from kubescript.wire import inspection
from tests.kit.stored_plans import CRITICAL, made

RUNBOOK: Final = plan.Runbook("image", "ab" * 32, {"tag": "a\u202eb", "count": 2, "quick": True})
BOUNDS: Final[dict[str, Any]] = {
    "users": ["alice", "*@example.com"],
    "groups": ["operators"],
    "contexts": ["staging"],
    "namespaces": ["shop*"],
    "kinds": ["deployments.apps"],
    "verbs": ["patch"],
    "fields": ["spec.template.spec.containers"],
    "replicas": [1, 10],
    "per_day": 5,
}
COUNT: Final = inspection.Row("spec.replicas", "2", "3")


def breach(step: dict[str, Any], user: str = "alice", groups: tuple[str, ...] = ("operators",), **changes: Any) -> str:
    """The bound that a plan of one step breaks."""
    bounds = {**BOUNDS, **changes.pop("bounds", {})}
    only = changes.pop("only", "")
    made_by = made(steps=1, runbook=RUNBOOK, **{"context": "staging", **changes})
    changed = msgspec.structs.replace(made_by.steps[0], **step)
    whole = msgspec.structs.replace(made_by, steps=(changed,))
    settings = config.Runbooks.model_validate({"approved": {"image": bounds}})
    known = preapproval.PreApproval(settings.approved, users.User(user, groups=groups), only)
    assert known.concerns(whole) and not known.concerns(msgspec.structs.replace(whole, runbook=msgspec.UNSET))
    return known.find_breach(whole)


def test_a_plan_within_all_bounds_breaks_none() -> None:
    """So do callers that match a pattern, the named cluster, and a number that stays within its bounds."""
    assert not breach({})
    assert not breach({"replicas": 10, "namespace": "shop-eu"}, user="bob@example.com", context="", only="staging")
    removal = {"verb": "delete", "replicas": msgspec.UNSET, "rows": ()}
    assert not breach(removal, bounds={"verbs": ["delete"]})
    cordon = {"namespace": "", "resource": "nodes", "group": "", "rows": ()}
    assert not breach(cordon, bounds={"namespaces": [""], "kinds": ["nodes"]})
    taken = {"affected": (plan.Affected("takes pods", 2), plan.Affected("leaves services", 1))}
    assert not breach(removal | taken, bounds={"verbs": ["delete"], "kinds": ["deployments.apps", "pods"]})


NODE: Final = {"namespace": "", "resource": "nodes", "group": "", "rows": ()}
CLUSTER: Final = {"bounds": {"namespaces": ["", "*"], "kinds": ["nodes", "namespaces"], "verbs": ["delete", "patch"]}}
BREACHES: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "another user": ({}, {"user": "mallory"}),
    "no user": ({}, {"user": ""}),
    "another group": ({}, {"groups": ("developers",)}),
    "another cluster": ({}, {"context": "production"}),
    "another one, the caller's only": ({}, {"context": "", "only": "production"}),
    "a cluster without a name": ({}, {"context": ""}),
    "a named one that no bound names": ({}, {"context": "", "only": "staging", "bounds": {"contexts": []}}),
    "several people": ({}, {"approvals": 2}),
    "a critical finding": ({"findings": (CRITICAL,)}, {}),
    "another namespace": ({"namespace": "kube-system"}, {}),
    "no namespace": ({"namespace": ""}, {"bounds": {"namespaces": ["*"]}}),
    "a subresource": ({"subresource": "scale"}, {}),
    "another group of the API": ({"group": "extensions"}, {}),
    "an apply that creates": ({"precondition": None}, {}),
    "a removal": ({"verb": "delete"}, {}),
    "an eviction": ({"verb": "create", "subresource": "eviction"}, {"bounds": {"verbs": ["create"]}}),
    "what goes with a removal": ({"affected": (plan.Affected("takes secrets", 1),)}, {}),
    "what was not looked at": ({"affected": (plan.Affected("not looked at: secrets", 1),)}, {}),
    "pods that are evicted": (NODE | {"new_taints": (inspection.Taint("a", "", "NoExecute"),)}, CLUSTER),
    "a removal outside namespaces": (NODE | {"verb": "delete"}, CLUSTER),
    "a removal of a namespace": ({"verb": "delete", "resource": "namespaces", "group": ""}, CLUSTER),
    "another field": ({"rows": (inspection.Row("spec.template.spec.containersX", None, '"x"'),)}, {}),
    "too many replicas": ({"replicas": 11}, {}),
    "no replica": ({"replicas": 0}, {}),
    "an autoscaler's bound": ({"counts": ("3", "1000")}, {}),
    "a count that is no number": ({"counts": ('"3"',)}, {}),
    "a count without bounds": ({"counts": ("3",)}, {"bounds": {"replicas": None}}),
}


@pytest.mark.parametrize("what", BREACHES)
def test_each_bound_is_broken_alone(what: str) -> None:
    """One difference is enough, and what the plan itself says is not repeated."""
    step, changes = BREACHES[what]
    told = breach(step, **changes)
    assert told and "kube-system" not in told and "mallory" not in told
    assert not breach({})


@pytest.mark.parametrize("left_out", ["namespaces", "kinds", "verbs", "per_day"])
def test_a_bound_is_not_left_out(left_out: str) -> None:
    """Nothing is approved in advance without its callers, places, kinds, verbs and number."""
    given = {key: value for key, value in BOUNDS.items() if key != left_out}
    for bounds in (given, {**BOUNDS, "users": [], "groups": []}):
        with pytest.raises(pydantic.ValidationError):
            config.Runbooks.model_validate({"approved": {"image": bounds}})
    assert config.Runbooks.model_validate({"approved": {"image": BOUNDS}})


def test_a_person_sees_the_runbook_and_its_arguments() -> None:
    """With quotes, and with what would be hidden made visible."""
    shown = plain.text(record.Record(made(steps=1, runbook=RUNBOOK), "pending"), 120)
    assert "made by runbook image" in shown and f"image, SHA-256 {'ab' * 32}" in shown
    assert "count = 2" in shown and "quick = true" in shown
    assert "\u202e" not in shown and 'tag = "a' in shown
    assert "runbook" not in plain.text(record.Record(made(steps=1), "pending"), 120).lower()
