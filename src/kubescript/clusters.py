"""Builds clusters from settings, each with its connection, policy and broker. `tenant` and the command line call it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from pathlib import Path
from typing import Final

from kubescript import config, errors, redaction
from kubescript.broker import broker
from kubescript.changes import writer
from kubescript.changes.rules import write_settings
from kubescript.cluster import acting
from kubescript.cluster import base as cluster_base
from kubescript.policy import kind_resolver, permissions
from kubescript.policy import rule_checks as policy_rules

__all__ = ["accesses", "check_rules", "one"]

_DISCOVERY_S: Final = 10.0
"""Seconds for discovering which of a cluster's resources the rules name."""


def accesses(
    settings: config.Settings, masking: redaction.Engine, caller: acting.Acting | None = None
) -> dict[str, writer.WritableAccess]:
    """Returns a cluster and its broker for each of `contexts`, the default one first; "" names the only one. Requests
    are sent on behalf of `caller`; None: as the server itself. Raises ConfigError."""
    made: dict[str, writer.WritableAccess] = {}
    with contextlib.ExitStack() as opened:
        for name in settings.context_names or ("",):
            access = _access(settings, name, masking, caller)
            made[name] = access
            opened.callback(access.cluster.close)
        # All clusters are made, so none is closed here.
        opened.pop_all()
    return made


def _access(
    settings: config.Settings, name: str, masking: redaction.Engine, caller: acting.Acting | None
) -> writer.WritableAccess:
    own = settings.of_context(name) if name else settings
    several = len(settings.contexts) > 1
    if caller is not None:
        caller = caller.at(name, own.audience or "")
    rules = permissions.read(own)  # first: a rule that can never match is found without a cluster
    # With several clusters, one that is down must not use up the time of a script that calls all of them.
    patience_s = own.limits.patience_ms / 1000 if several else None
    is_checked = own.needs_cluster and not own.kubeconfig_later
    try:
        cluster = _cluster(own, checked=is_checked, patience_s=patience_s, caller=caller)
    except errors.ClusterError as error:
        prefix = f"context {name}: " if name else ""
        raise errors.ConfigError(f"{prefix}{error.message}", remedy=error.remedy) from None
    resolve = kind_resolver.KindResolver(cluster)
    where = name if several else ""
    write_rules = write_settings.read(own.write_policy, own.mode, own.approval)
    own_writer = writer.Writer(cluster, masking.changes, write_rules, masking.text, where)
    cluster_broker = broker.Broker(
        cluster,
        rules,
        resolve=resolve,
        redact=masking.body,
        redact_echo=masking.echo,
        mask=masking.text,
        writer=own_writer,
        gzip=masking.enabled,
        context=where,
    )
    # Only the operator's own rules can match nothing by mistake.
    own_rules = [rule for rule in rules.rules if not rule.built_in]
    denials = None
    if own_rules:
        denials = policy_rules.Denials(own_rules, resolve, where)
    return writer.WritableAccess(cluster, cluster_broker, denials, writer=own_writer)


def of_urls(settings: config.Settings, masking: redaction.Engine) -> dict[str, writer.WritableAccess]:
    """Returns the API servers that requests may name (openshift.urls), each called with a request's token. Raises
    ConfigError."""
    named = settings.openshift
    ca = str(named.ca_cert.absolute()) if named.ca_cert is not None else ""
    changed: dict[str, object] = {"contexts": {}, "context": None, "snapshot": None}
    made = {}
    for url in named.urls:
        kubeconfig = _kubeconfig(url, ca, insecure=named.insecure)
        own = settings.model_copy(update={**changed, "kubeconfig": kubeconfig})
        made[url] = _access(own, "", masking, acting.Bearer(is_only=True))
    return made


@functools.cache
def _kubeconfig(url: str, ca: str, *, insecure: bool) -> Path:
    """Returns a kubeconfig with one API server and no user. It exists only in memory, as long as this process is
    running."""
    cluster: dict[str, object] = {"server": url, "insecure-skip-tls-verify": insecure}
    if ca:
        cluster["certificate-authority"] = ca
    written = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "named", "cluster": cluster}],
        "contexts": [{"name": url, "context": {"cluster": "named", "user": ""}}],
        "current-context": url,
    }
    descriptor = os.memfd_create("kubeconfig")
    os.write(descriptor, json.dumps(written).encode())
    return Path(f"/proc/self/fd/{descriptor}")


def one(settings: config.Settings) -> cluster_base.Cluster:
    """Returns one cluster without a policy, for the command line's own questions. Raises ClusterError when its
    configuration cannot be used."""
    return _cluster(settings, checked=True)


def check_rules(settings: config.Settings, name: str) -> list[policy_rules.Finding]:
    """Returns the findings about the rules for one cluster. Calls the cluster only if there are rules that are not
    built in."""
    rules = [rule for rule in permissions.read(settings).rules if not rule.built_in]
    if not rules:
        return []
    try:
        cluster = _cluster(settings, checked=False)
    except errors.ClusterError:  # `doctor` reports the cluster's problem separately
        return []
    with contextlib.closing(cluster):
        resolve = kind_resolver.KindResolver(cluster)
        return policy_rules.examine(rules, resolve, _DISCOVERY_S, name)


def _cluster(
    settings: config.Settings, *, checked: bool, patience_s: float | None = None, caller: acting.Acting | None = None
) -> cluster_base.Cluster:
    """Returns the cluster of these settings, not yet connected. Raises ClusterError if `checked` and its kubeconfig or
    context cannot be used."""
    if settings.snapshot is not None:
        from kubescript.snapshot import snapshot

        return snapshot.Snapshot(settings.snapshot)
    from kubescript.cluster import live

    cluster = live.Live(settings.kubeconfig, settings.context, patience_s, caller)
    if checked:
        cluster.choose()
    return cluster
