"""Builds clusters from settings, each with its connection, policy and broker. `tenant` and the command line call it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Final

from kubescript import accesses, config, errors, redaction
from kubescript.broker import broker, rate
from kubescript.changes import writer
from kubescript.changes.rules import write_settings
from kubescript.cluster import acting, kubeconfig
from kubescript.cluster import base as cluster_base
from kubescript.fleet import directory
from kubescript.policy import kind_resolver, permissions
from kubescript.policy import rule_checks as policy_rules
from kubescript.snapshot import library
from kubescript.sources import door, source

__all__ = ["check_rules", "list_source_kinds", "of_urls", "one", "open_all"]

_DISCOVERY_S: Final = 10.0
"""Seconds for discovering which of a cluster's resources the rules name."""


def open_all(
    settings: config.Settings,
    masking: redaction.Engine,
    known: directory.Directory,
    rates: rate.Rates,
    shelf: library.Library,
    caller: acting.Acting | None = None,
    bearer: acting.Bearer | None = None,
    *,
    checked: bool = True,
) -> accesses.Opened[writer.WritableAccess]:
    """Returns the clusters that a caller may name, each with its broker, opened when it is first asked for.
    `rates` count the writes, and `shelf` lends saved clusters. Requests are sent on behalf of `caller`; None: as the
    server itself. `bearer` passes the caller's token to sources.

    If `checked`, those of the settings are opened now; raises ConfigError for what cannot be used."""

    def open_access(entry: directory.Entry) -> writer.WritableAccess:
        name, found = entry.name, entry.member
        own = known.settings_of(entry)
        content = found.kubeconfig if found is not None else None
        # With several clusters, one that is down must not use up the time of a script that calls all of them.
        patience_s = own.limits.patience_ms / 1000 if settings.is_several else None
        cluster = _open(own, name, caller, content, shelf=shelf, patience_s=patience_s)
        # Attack: a caller has the writes forgotten by calling so many clusters that this one is closed, or by a token
        # with other scopes, which has other clusters.
        counted = rates.of(name, own.write_policy.per_minute)
        # Attack: nothing says which cluster was changed by a caller who may use one of several.
        where = name if settings.names_clusters else ""
        access = _access(own, cluster, masking, counted, where, is_found=found is not None)
        access = replace(
            access, sources=_open_sources(own, cluster, masking, where, caller, bearer, content, patience_s)
        )
        if found is None:
            return access
        return replace(access, settings=own, release=lambda: _release(access))

    for own in settings.clusters if checked else ():  # the tables for found clusters, too; before any is opened
        permissions.read(own)
        write_settings.read(own.write_policy, own.mode, own.approval)
    opened = accesses.Opened(known, open_access)
    listed = settings.context_names if known.is_open else known.list_names()
    with contextlib.ExitStack() as closing:
        closing.callback(opened.close)
        for name in listed if checked else ():
            opened.get(name)
        # All clusters are made, so none is closed here.
        closing.pop_all()
    return opened


def list_source_kinds(settings: config.Settings, opened: accesses.Opened[writer.WritableAccess]) -> dict[str, str]:
    """Returns the names of all clusters' sources that the caller may use, and the kind of each."""
    kinds = settings.source_kinds
    if settings.namespaces is not None:  # nothing keeps namespaces apart in a snapshot
        return kinds
    names = [name for name in settings.context_names if settings.of_context(name).snapshot is not None]
    if settings.snapshot is not None:
        names = [""]
    for name in names:
        access = opened.get(name)
        kinds = {**(access.sources.kinds if access is not None and access.sources is not None else {}), **kinds}
    return kinds


def _open_sources(
    settings: config.Settings,
    cluster: cluster_base.Cluster,
    masking: redaction.Engine,
    where: str,
    caller: acting.Acting | None,
    bearer: acting.Bearer | None,
    content: bytes | None,
    patience_s: float | None,
) -> door.Door | None:
    """Returns the sources of one cluster; None if there are none. Raises ConfigError for damaged ones."""
    hooks = source.Hooks(masking.body, masking.echo, masking.text, masking.enabled, where)
    if settings.snapshot is not None:
        return _open_saved_sources(settings, cluster, hooks)
    if not settings.sources:
        return None
    from kubescript.sources import opening

    # A source that the server asks as itself is asked so for every caller.
    own = cluster if caller is None else _cluster(settings, checked=False, patience_s=patience_s, content=content)
    return opening.open_door(settings, hooks, cluster, own, bearer, patience_s)


def _open_saved_sources(
    settings: config.Settings, cluster: cluster_base.Cluster, hooks: source.Hooks
) -> door.Door | None:
    from kubescript.snapshot import snapshot
    from kubescript.sources import saved

    assert isinstance(cluster, snapshot.Snapshot)
    try:
        return saved.open_saved(cluster.saved, settings.namespaces, hooks)
    except errors.ClusterError as error:
        raise errors.ConfigError(error.message, remedy="capture the cluster again") from None


def _release(access: accesses.ClusterAccess) -> None:
    from kubescript.cluster import live

    assert isinstance(access.cluster, live.Live)  # found clusters are
    access.cluster.release()
    if access.sources is not None:
        access.sources.release()


def _open(
    settings: config.Settings,
    name: str,
    caller: acting.Acting | None,
    content: bytes | None,
    *,
    shelf: library.Library | None = None,
    patience_s: float | None = None,
) -> cluster_base.Cluster:
    """Returns the cluster of these settings, or of a kubeconfig's `content`, for this caller. Raises ConfigError."""
    if caller is not None:
        caller = caller.at(name, settings.audience or "")
    is_checked = settings.needs_cluster and not settings.kubeconfig_later and content is None
    try:
        return _cluster(settings, shelf, checked=is_checked, patience_s=patience_s, caller=caller, content=content)
    except errors.ClusterError as error:
        prefix = f"context {name}: " if name else ""
        raise errors.ConfigError(f"{prefix}{error.message}", remedy=error.remedy) from None


def _access(
    settings: config.Settings,
    cluster: cluster_base.Cluster,
    masking: redaction.Engine,
    counted: rate.Rate,
    where: str,
    *,
    is_found: bool,
) -> writer.WritableAccess:
    """Returns a cluster with its broker; `where` is its name in plans and records, and `counted` counts the writes.
    Raises ConfigError."""
    rules = permissions.read(settings)
    resolve = kind_resolver.KindResolver(cluster)
    write_rules = write_settings.read(settings.write_policy, settings.mode, settings.approval)
    own_writer = writer.Writer(
        cluster,
        masking.changes,
        write_rules,
        masking.text,
        where,
        rate_of_writes=counted,
        is_found=is_found,
    )
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


def of_urls(
    settings: config.Settings, masking: redaction.Engine, rates: rate.Rates
) -> dict[str, writer.WritableAccess]:
    """Returns the API servers that requests may name (openshift.urls), each called with a request's token; `rates`
    count the writes. Raises ConfigError."""
    named = settings.openshift
    ca = str(named.ca_cert.absolute()) if named.ca_cert is not None else ""
    changed: dict[str, object] = {"contexts": {}, "fleet": config.Fleet(), "snapshot": None, "sources": {}}
    made = {}
    for url in named.urls:
        content = _kubeconfig(url, ca, insecure=named.insecure)
        own = settings.model_copy(update={**changed, "context": url})
        cluster = _open(own, "", acting.Bearer(is_only=True), content)
        counted = rates.of(url, own.write_policy.per_minute)
        made[url] = _access(own, cluster, masking, counted, "", is_found=True)
    return made


def _kubeconfig(url: str, ca: str, *, insecure: bool) -> bytes:
    """Returns a kubeconfig with one API server and no user."""
    cluster: dict[str, object] = {"server": url, "insecure-skip-tls-verify": insecure}
    if ca:
        cluster["certificate-authority"] = ca
    return json.dumps(kubeconfig.make(url, cluster)).encode()


def one(settings: config.Settings, content: bytes | None = None) -> cluster_base.Cluster:
    """Returns one cluster without a policy, for the command line's own questions; `content` is a found one's
    kubeconfig. Raises ClusterError when its configuration cannot be used."""
    return _cluster(settings, checked=True, content=content)


def check_rules(settings: config.Settings, name: str, content: bytes | None = None) -> list[policy_rules.Finding]:
    """Returns the findings about the rules for one cluster. Calls the cluster only if there are rules that are not
    built in."""
    rules = [rule for rule in permissions.read(settings).rules if not rule.built_in]
    if not rules:
        return []
    try:
        cluster = _cluster(settings, checked=False, content=content)
    except errors.ClusterError:  # `doctor` reports the cluster's problem separately
        return []
    with contextlib.closing(cluster):
        resolve = kind_resolver.KindResolver(cluster)
        return policy_rules.examine(rules, resolve, _DISCOVERY_S, name)


def _cluster(
    settings: config.Settings,
    shelf: library.Library | None = None,
    *,
    checked: bool,
    patience_s: float | None = None,
    caller: acting.Acting | None = None,
    content: bytes | None = None,
) -> cluster_base.Cluster:
    """Returns the cluster of these settings, or of a kubeconfig's `content`, not yet connected. Raises ClusterError if
    `checked` and its kubeconfig or context cannot be used."""
    if settings.snapshot is not None:
        from kubescript.snapshot import snapshot

        return snapshot.Snapshot(settings.snapshot, shelf)
    from kubescript.cluster import live

    cluster = live.Live(content or settings.kubeconfig, settings.context, patience_s, caller)
    if checked:
        cluster.choose()
    return cluster
