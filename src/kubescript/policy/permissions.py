"""What the settings of one cluster permit."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kubescript import config
from kubescript.policy import denied_resources, policy, rule_checks
from kubescript.request import request
from kubescript.wire import exchanges

__all__ = ["read", "serves_keys"]

_SECRETS: Final = request.parse(exchanges.Call("GET", ("api", "v1", "secrets")))


def read(settings: config.Settings) -> policy.Policy:
    """Returns the policy for one cluster's settings. Raises ConfigError when a rule can never match."""
    rules = tuple(map(rule_checks.read, settings.denied_resources))
    defaults = denied_resources.list_defaults(rules) if settings.deny_defaults else ()
    serves_releases = "helm" in settings.toolsets
    return policy.Policy(
        settings.mode,
        rules,
        defaults,
        releases=serves_releases,
        nodes=settings.nodes.reads,
        namespaces=settings.namespaces,
    )


def serves_keys(settings: config.Settings) -> bool:
    """Says whether scripts get the keys of Secrets from one cluster. Raises ConfigError as `read` does."""
    rules = replace(read(settings), namespaces=None)
    return rules.decide(_SECRETS).serve == "keys"
