"""What RBAC says of objects that are served as metadata: the error of a script, and the roles made from the record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubescript import config, errors
from kubescript.audit import rbac
from kubescript.guest.sdk.values import exceptions as sdk_errors
from kubescript.policy import rule_checks

REFUSED = (
    'secrets is forbidden: User "system:serviceaccount:a:b" cannot list resource "secrets" in API group "" in the '
    'namespace "shop"'
)


def test_a_403_names_the_missing_right() -> None:
    """Where RBAC lacks `list secrets`, the error says that, who lacks it, and who can change it."""
    error = sdk_errors.from_answer(403, "Forbidden", json.dumps({"message": REFUSED}).encode(), {}, "GET /api")
    hint = "RBAC says so, not this server's policy: the cluster's administrator can let system:serviceaccount:a:b `list secrets`"
    assert hint in str(error)


def call(verb: str, resource: str, **more: str) -> dict[str, Any]:
    place = {"group": "", "subresource": "", "namespace": "shop", "name": ""}
    return {"type": "call", "decision": "allow", "status": 200, "verb": verb, "resource": resource, **place, **more}


def test_a_role_allows_whole_secrets_only_when_asked() -> None:
    """Calls served as metadata are left out of the roles and named in a comment; the operator may include them."""
    record = [call("list", "pods"), call("list", "secrets", served="metadata")]
    role, comment = rbac.as_yaml(record, "r"), "kubescript served only a part of these"
    assert comment in role and "- pods" in role and "- secrets" not in role and "list secrets" in role
    whole = rbac.as_yaml(record, "r", metadata=True)
    assert comment not in whole and "- secrets" in whole
    assert "- secrets" in rbac.as_yaml([call("list", "secrets")], "r")


def test_a_role_names_what_holds_helm_releases() -> None:
    """A release was read out of a Secret or ConfigMap: the right to do so is one for these."""
    release = {"group": "helm.sh", "version": "secrets", "served": "release", "name": "sh.helm.release.v1.web.v1"}
    record = [call("get", "releases") | release]
    assert "get releases" in rbac.as_yaml(record, "r") and "helm.sh\n" not in rbac.as_yaml(record, "r")
    whole = rbac.as_yaml(record, "r", metadata=True)
    assert "- secrets" in whole and "- sh.helm.release.v1.web.v1" in whole and "releases\n" not in whole


def test_a_subresource_has_no_metadata() -> None:
    """A rule that serves the metadata of a subresource is a mistake, and named at the start."""
    assert rule_checks.read(config.DeniedResource(group="", kind="ConfigMap", serve="metadata")).serve == "metadata"
    with pytest.raises(errors.ConfigError, match="subresource"):
        rule_checks.read(config.DeniedResource(group="", resource="pods/log", serve="metadata"))
