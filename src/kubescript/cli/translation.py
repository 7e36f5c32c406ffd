"""What each setting of kubernetes-mcp-server's configuration means here. `migrate` prints it; docs/migration.md has it
as a table. The settings are those of its pkg/config of August 2026, and older ones that it has dropped since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubescript import errors
from kubescript.cli import toml_reader, toml_text

__all__ = ["KEYS", "Entry", "is_foreign", "translate"]

_EXCHANGE: Final = (
    'kubescript exchanges no tokens. With acts_as = "caller" the cluster must take the caller\'s own token; with '
    'acts_as = "impersonate" the server\'s account, which needs the right to impersonate, names the caller to it'
)
_NO_TOOLS: Final = "kubescript has no such tools; scripts (toolset `code`) read the custom resources"
_FIXED: Final = "kubescript's limit is fixed"
_NOT_SERVED: Final = "kubescript does not serve texts of yours"
_BY_TOOLSET: Final = (
    "kubescript serves tools by toolset (docs/migration.md has ours for each of theirs); what nobody may change or see "
    "belongs in [write_policy] and [[denied_resources]]"
)
_ASKED: Final = (
    'with writes = "plan" a person approves every change, and without an answer nothing is sent; reads are not asked '
    "about: deny them in [[denied_resources]]"
)
_FILTERS: Final = "tools are not hidden; what a cluster does not serve is said in the answer"

_RENAMED: Final = {
    "kubeconfig": ("kubeconfig", ""),
    "log_file": ("log_file", ""),
    "tls_cert": ("tls.cert_file", ""),
    "tls_key": ("tls.key_file", ""),
    "certificate_authority": ("auth.ca_file", ""),
    "server_url": ("http.url", "tokens must name it as their audience, unless auth.audience names another"),
    "authorization_url": ("auth.issuer", "it requires everybody to log in; there is no require_oauth"),
}
"""Texts that mean the same under another name."""
_LEFT_OUT: Final = {
    "list_output": "the tool kubectl_get has an argument `output` (json, table, wide, name, yaml)",
    "oauth_scopes": "these were offered to clients; auth.scopes is what every token must have",
    "disable_dynamic_client_registration": "clients register with the identity provider, never here",
    "sts_client_id": _EXCHANGE,
    "sts_client_secret": _EXCHANGE,
    "sts_audience": _EXCHANGE,
    "sts_scopes": _EXCHANGE,
    "sts_auth_style": _EXCHANGE,
    "sts_client_cert_file": _EXCHANGE,
    "sts_client_key_file": _EXCHANGE,
    "sts_federated_token_file": _EXCHANGE,
    "token_exchange_strategy": _EXCHANGE,
    "jwks_url": "auth.issuer publishes where its keys are",
    "sse_base_url": "legacy SSE is at /sse of the same port, and its clients are told a path and no host",
    "trust_proxy_headers": "headers of a proxy are not read; http.url and http.hosts say how the server is called",
    "require_tls": "there is no such setting; the flag --require-tls is taken",
    "tls_min_version": "kubescript has no such setting",
    "tls_cipher_suites": "kubescript has no such setting",
    "http.read_header_timeout": _FIXED,
    "http.read_timeout": _FIXED,
    "http.write_timeout": _FIXED,
    "http.idle_timeout": _FIXED,
    "http.max_header_bytes": _FIXED,
    "http.max_body_bytes": _FIXED,
    "http.rate_limit_burst": "http.requests_per_minute allows them at once",
    "cluster_provider_strategy": (
        "a pod without a kubeconfig uses its service account; otherwise one context is served, or those of `contexts`"
    ),
    "cluster_contexts": "list the kubeconfig's contexts in `contexts`",
    "cluster_provider_configs": "kubescript has no providers",
    "enabled_tools": _BY_TOOLSET,
    "disabled_tools": _BY_TOOLSET,
    "tool_overrides": _NOT_SERVED,
    "prompts": _NOT_SERVED,
    "server_instructions": _NOT_SERVED,
    "disable_toolset_prompts": "prompts come with their toolsets",
    "toolset_configs.helm": "the toolset helm installs nothing, and reads releases from Secrets and ConfigMaps alike",
    "toolset_configs.kiali": _NO_TOOLS,
    "toolset_configs.netobserv": _NO_TOOLS,
    "kiali": _NO_TOOLS,
    "telemetry.traces_sampler": "give the variable OTEL_TRACES_SAMPLER",
    "telemetry.traces_sampler_arg": "give the variable OTEL_TRACES_SAMPLER_ARG",
    "validation_enabled": "every write is first sent as a dry run; reads are judged by the cluster",
    "experimental_enable_target_compatibility_tool_filters": _FILTERS,
    "enable_target_compatibility_tool_filters": _FILTERS,
    "confirmation_fallback": _ASKED,
    "confirmation_rules": _ASKED,
}
"""What nothing here means."""
_TRANSLATED: Final = (
    "denied_resources", "log_level", "port", "http_port", "sse_port", "bind_address", "stateless", "read_only",
    "disable_destructive", "toolsets", "require_oauth", "oauth_audience", "skip_jwt_verification", "validate_token",
    "cluster_auth_mode", "http.rate_limit_rps", "telemetry.enabled", "telemetry.endpoint", "telemetry.protocol",
)  # fmt: skip
"""What needs more than another name."""
_TABLES: Final = ("http", "telemetry", "toolset_configs")
"""Tables whose members are settings of their own."""
_TOOLSETS: Final = {"core": "kubectl", "config": "cluster", "helm": "helm"}
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_CREATE: Final = {"*": ["create"]}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_MOST_A_MINUTE: Final = 1_000_000

KEYS: Final = frozenset({*_RENAMED, *_LEFT_OUT, *_TRANSLATED})
"""Every setting, with its table before a dot."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What becomes of one of their settings."""

    theirs: str
    name: str = ""
    """Ours, with its table before a dot; empty when nothing is set."""
    value: object = None
    note: str = ""


def is_foreign(file: Mapping[str, Any], ours: Mapping[str, object]) -> bool:
    """Says whether these settings look like theirs; `ours` has the names of kubescript's own."""
    named = any(name in KEYS and name not in ours for name in _flat(file))  # of [http], no member is in both
    return named or isinstance(file.get("log_level"), int)


def translate(file: Mapping[str, Any]) -> list[Entry]:
    """Returns what becomes of each setting. Raises ConfigError for a value that theirs does not take either."""
    names = _flat(file)
    if file and not any(name in KEYS for name in names):
        raise errors.ConfigError("it has no setting of kubernetes-mcp-server")
    read = toml_reader.Reader(file)
    entries = [
        *_tools(read), *_clusters(read), *_logging(read), *_listening(read), *_renamed(read), *_login(read),
        *_traffic(read), *_telemetry(read),
    ]  # fmt: skip
    entries += [Entry(name, note=_LEFT_OUT[name]) for name in names if name in _LEFT_OUT and read.given(name)]
    return entries + [_unknown(name) for name in names if name not in KEYS]


def _unknown(name: str) -> Entry:
    """Says that a setting has no effect there either."""
    table, _, member = name.partition(".")
    shown = name if _PLAIN.fullmatch(name) else toml_text.quoted(name)
    if table in _TABLES and member in KEYS:
        return Entry(
            shown, note=f"nothing reads it in the table [{table}]; it was perhaps meant to stand above all tables"
        )
    return Entry(shown, note="kubernetes-mcp-server has no such setting")


def _flat(file: Mapping[str, Any]) -> list[str]:
    """Returns the names of all settings of the file."""
    names = []
    for name, value in file.items():
        if name in _TABLES and isinstance(value, dict):
            names += [f"{name}.{member}" for member in value]
        else:
            names.append(name)
    return names


def _renamed(read: toml_reader.Reader) -> Iterator[Entry]:
    pair = read.text("tls_cert"), read.text("tls_key")
    for theirs, (name, note) in _RENAMED.items():
        value = read.url(theirs) if theirs.endswith("_url") else read.text(theirs)
        if not value:
            continue
        if name.startswith("tls.") and not all(pair):
            yield Entry(theirs, note=f"{name} is taken beside the other of tls_cert and tls_key only")
        else:
            yield Entry(theirs, name, value, note)


def _tools(read: toml_reader.Reader) -> Iterator[Entry]:
    """What is served, and what it may change."""
    yield from _toolsets(read)
    writes = not read.flag("read_only")
    if read.flag("read_only") is None:
        yield Entry(
            "read_only",
            note='it is not given: there, writes are on, and here they are off. writes = "plan" permits them',
        )
    elif writes:
        note = 'this means writes = "plan": a person approves each change; writes = "direct" sends at once, as there'
        yield Entry("read_only", "read_only", False, note)
    else:
        yield Entry("read_only", "read_only", True)
    if read.flag("disable_destructive"):
        yield Entry(
            "disable_destructive", "write_policy.verbs", _CREATE, "where writes are on, things may only be created"
        )


def _toolsets(read: toml_reader.Reader) -> Iterator[Entry]:
    given = read.texts("toolsets")
    names = dict.fromkeys(_TOOLSETS[name] for name in given or ("core", "config") if name in _TOOLSETS)
    unknown = [toml_text.quoted(name) for name in given if name not in _TOOLSETS]
    if unknown:
        yield Entry("toolsets", note=f"{', '.join(unknown)}: {_NO_TOOLS}")
    note = "`code` is one tool that runs scripts"
    if not given:
        note = "the default there; take it out of a file of a --config-dir folder that says nothing of toolsets"
    if names:
        yield Entry("toolsets", "toolsets", list(names), note)


def _clusters(read: toml_reader.Reader) -> Iterator[Entry]:
    denied = []
    for table in read.tables("denied_resources"):
        fields = {name: table.get(name, "") for name in ("group", "version", "kind")}
        if not all(isinstance(value, str) for value in fields.values()):
            raise errors.ConfigError("`denied_resources`: expected texts")
        denied.append(fields)
    if denied:
        note = "a denial holds for every version; the rules of several files add up"
        yield Entry("denied_resources", "denied_resources", denied, note)


def _logging(read: toml_reader.Reader) -> Iterator[Entry]:
    level = int(read.number("log_level"))
    if level:
        yield Entry("log_level", "log_level", "debug" if level >= 4 else "info", f"was {level}; from 4 on it is debug")


def _listening(read: toml_reader.Reader) -> Iterator[Entry]:
    given = [name for name in ("port", "http_port", "sse_port") if read.given(name)]
    port = given[0] if given else ""
    yield from (Entry(name, note=f"{port} counts") for name in given[1:])
    if port:
        note = "" if port != "sse_port" else "legacy SSE is at /sse, and streamable HTTP at /mcp"
        yield Entry(port, "port", _port(read, port), note)
    address = read.text("bind_address")
    if not port and not address:
        return
    note = "" if address else "the default there"
    address = address or "0.0.0.0"  # noqa: S104  their default
    if address in _LOOPBACK or _ways_in(read):
        yield Entry("bind_address", "host", address, note)
    else:
        yield Entry(
            "bind_address",
            note=f"only 127.0.0.1 is served without authentication. With [auth], or with insecure_no_auth = true, give "
            f"host = {toml_text.quoted(address)}, which it was there",
        )


def _port(read: toml_reader.Reader, name: str) -> int:
    value = read.text(name) if name == "port" else str(int(read.number(name)))
    if not value.isascii() or not value.isdecimal() or int(value) > 65_535:
        raise errors.ConfigError(f"`{name}`: expected a number up to 65535")
    return int(value)


def _ways_in(read: toml_reader.Reader) -> list[str]:
    """Returns the settings of this file that make callers log in."""
    if not read.flag("require_oauth"):
        return []
    ways = [name for name in ("skip_jwt_verification", "validate_token") if read.flag(name)]
    if read.url("authorization_url"):
        ways.insert(0, "authorization_url")
    return ways


def _login(read: toml_reader.Reader) -> Iterator[Entry]:
    """Who callers are, and who acts on the cluster for them."""
    audience = read.text("oauth_audience")
    if audience:
        yield Entry("oauth_audience", "auth.audience", [audience])
    ways = _ways_in(read)
    if "authorization_url" in ways and not audience and not read.text("server_url"):
        yield Entry(
            "oauth_audience",
            note="it is not given: there, tokens for anybody are taken; here they must name http.url or auth.audience",
        )
    for name in ("skip_jwt_verification", "validate_token"):
        # Each way to log in is enough here: beside the issuer, this one would let in tokens that are not for us.
        if name in ways and "authorization_url" not in ways:
            yield Entry(
                name, "auth.token_review", True,
                "no token goes unread: the cluster is asked about each, as an account that may create tokenreviews",
            )  # fmt: skip
        elif read.flag(name):
            yield Entry(name, note="tokens of auth.issuer are verified by its keys, and no others are taken")
    mode = read.text("cluster_auth_mode")
    if mode == "kubeconfig":
        yield Entry("cluster_auth_mode", "acts_as", "server")
    elif ways:
        note = "the cluster gets the caller's own token, so each caller has the rights of his own RBAC"
        yield Entry("cluster_auth_mode" if mode else "require_oauth", "acts_as", "caller", note)
    elif mode:
        yield Entry("cluster_auth_mode", note='acts_as = "caller" passes tokens on, and needs [auth]')
    if read.flag("require_oauth") and (mode or not ways):
        yield Entry("require_oauth", note="everybody must log in as soon as [auth] says how")


def _traffic(read: toml_reader.Reader) -> Iterator[Entry]:
    if read.flag("stateless"):
        yield Entry("stateless", "http.stateless", True)
    rate = read.number("http.rate_limit_rps")
    if rate > 0:
        a_minute = min(max(1, round(rate * 60)), _MOST_A_MINUTE)
        note = f"was {rate:g} a second and session; it counts for a caller, with all his sessions"
        yield Entry("http.rate_limit_rps", "http.requests_per_minute", a_minute, note)


def _telemetry(read: toml_reader.Reader) -> Iterator[Entry]:
    endpoint, protocol = read.url("telemetry.endpoint"), read.text("telemetry.protocol")
    if protocol:
        yield Entry("telemetry.protocol", note="kubescript sends OTLP over HTTP (http/protobuf)")
    if read.flag("telemetry.enabled") is False:
        yield Entry(
            "telemetry.enabled", note="without otlp_endpoint, only a variable OTEL_EXPORTER_OTLP_… would send anything"
        )
        if endpoint:
            yield Entry("telemetry.endpoint", note="telemetry.enabled = false")
        return
    if read.flag("telemetry.enabled"):
        yield Entry("telemetry.enabled", note="telemetry.otlp_endpoint alone enables it")
    if endpoint and protocol == "http/protobuf":
        yield Entry("telemetry.endpoint", "telemetry.otlp_endpoint", endpoint)
    elif endpoint:
        http = re.sub(r":4317(?=/|$)", ":4318", endpoint)
        note = f"was {toml_text.quoted(endpoint)} for gRPC; receivers usually take HTTP at port 4318"
        yield Entry("telemetry.endpoint", "telemetry.otlp_endpoint", http, note)
