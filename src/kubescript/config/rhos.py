"""Converts the configuration file of rhos-mcps, whose tools are in the toolsets `openstack` and `openshift`, to our
settings.

Such a file implies the http transport and both toolsets, unless flags and variables say otherwise. Equivalent settings
are converted; settings that would loosen a check that is always made here are ignored with a warning in the log.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kubescript import errors
from kubescript.config.commands import ROUTES
from kubescript.config.suggestions import nearest

__all__ = ["FILE", "VARIABLE", "is_beside", "is_theirs", "translate"]

log = logging.getLogger(__name__)

VARIABLE: Final = "RHOS_MCPS_CONFIG"
"""The variable that names the file."""
FILE: Final = Path("config.yaml")
"""The file if the variable is not set."""
_TOKEN_VARIABLE: Final = "MCP_SECURITY_TOKEN"  # noqa: S105  a name
_SECURITY: Final = "mcp_transport_security"
_OWN: Final = frozenset({"ip", "debug", "workers", "unicorn_log_format", _SECURITY})
"""Keys that do not exist in our settings."""
_KEYS: Final = frozenset({*_OWN, *ROUTES, "port", "processes_pool_size", "log_format"})
_SAME: Final = (("ip", "host"), ("port", "port"), ("processes_pool_size", "processes_pool_size"))
"""Keys whose values are the same in our settings, and our names for them."""
_SECURITY_KEYS: Final = frozenset({"token", "enable_dns_rebinding_protection", "allowed_hosts", "allowed_origins"})
# As in a file of tokens: short ones can eventually be guessed.
_SHORTEST: Final = 16
"""The minimum number of characters of a token."""


def is_theirs(data: Mapping[str, Any]) -> bool:
    """Says whether settings are in this format: they have a key that we do not."""
    if not _OWN.isdisjoint(data):
        return True
    tables = [_raw(data, name) for name in ROUTES]
    return any("enabled" in table for table in tables)


def is_beside(data: Mapping[str, Any]) -> bool:
    """Says whether a file that no flag or variable names is in this format; it might belong to another program."""
    telling = {*ROUTES, _SECURITY}
    if telling.isdisjoint(data):
        return False
    return is_theirs(data)


def translate(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns the settings in our format. Raises ConfigError."""
    _check_keys(data, _KEYS, "", path)
    tables = {name: _table(data, name) for name in ROUTES}
    toolsets: list[str] = []
    ours: dict[str, Any] = {"transport": "http", "toolsets": toolsets, "kubeconfig_later": True}
    for name, table in tables.items():
        is_enabled = table.pop("enabled", True)
        if _flag(is_enabled, f"{name}.enabled"):
            toolsets.append(name)
        ours[name] = table
    for theirs, own in _SAME:
        value = data.get(theirs)
        if value is not None:
            ours[own] = value
    if _flag(data.get("debug", False), "debug"):
        ours["log_level"] = "debug"
    _warn_of_process(data)
    security = _table(data, _SECURITY)
    return ours | _translate_security(security, path)


def _translate_security(security: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns the settings for tokens, and for the hosts and origins that requests may name."""
    _check_keys(security, _SECURITY_KEYS, f"{_SECURITY}.", path)
    is_protected = security.get("enable_dns_rebinding_protection", True)
    # A setting that would loosen a check is never converted.
    if not _flag(is_protected, "enable_dns_rebinding_protection"):
        log.warning(
            "enable_dns_rebinding_protection = false is ignored: Host and Origin of requests are always checked"
        )
    hosts = _names(security, "allowed_hosts", any_port=True)
    http = {
        "hosts": [name.removesuffix(":*") for name in hosts],
        "origins": _names(security, "allowed_origins"),
    }
    token = security.get("token")
    if token is None:
        token = os.environ.get(_TOKEN_VARIABLE)
    # Attack: an operator sets the token from a missing file, so that it is empty and would let every caller in.
    if token is None:
        return {"http": http}
    return {"http": http, "auth": {"tokens": {"everybody": _digest(token)}}}


def _names(security: Mapping[str, Any], key: str, *, any_port: bool = False) -> list[str]:
    """Returns the names without the patterns that match any name; those are logged. Raises ConfigError."""
    given = security.get(key)
    if given is None:
        return []
    are_texts = isinstance(given, list) and all(isinstance(name, str) for name in given)
    if not are_texts:
        raise errors.ConfigError(f"setting `{_SECURITY}.{key}`: expected a list of texts")
    suffix = ":*" if any_port else ""
    wild = [name for name in given if "*" in name.removesuffix(suffix)]
    if wild:
        shown = ", ".join(map(repr, wild))
        log.warning("%s: %s is ignored: requests must name a host that is listed", key, shown)
    return [name for name in given if name not in wild]


def _digest(token: object) -> str:
    if not isinstance(token, str) or len(token) < _SHORTEST:
        raise errors.ConfigError(
            f"setting `{_SECURITY}.token` ({_TOKEN_VARIABLE}): a token has at least {_SHORTEST} characters",
            remedy="`openssl rand -hex 32` makes one",
        )
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f"sha256:{digest}"


def _warn_of_process(data: Mapping[str, Any]) -> None:
    """Warns of settings of the process and its log that are not converted."""
    workers = data.get("workers", 1)
    if workers not in (1, None):
        log.warning("workers is ignored: one process serves everybody, and command lines run in processes of their own")
    for key in ("log_format", "unicorn_log_format"):
        if data.get(key) is not None:
            log.warning("%s is ignored: --log-format chooses between json and text", key)


def _check_keys(given: Mapping[str, Any], known: frozenset[str], table: str, path: Path) -> None:
    """Refuses the first key that is not known."""
    for key in given:
        if key in known:
            continue
        suggestion = nearest(str(key), known)
        raise errors.ConfigError(f"unknown setting `{table}{key}` in {path}{suggestion}")


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns a copy of a table; an empty one if there is none. Raises ConfigError for any other value."""
    value = data.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise errors.ConfigError(f"setting `{name}`: expected a table")
    return dict(value)


def _raw(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a table; an empty one for any other value."""
    value = data.get(name)
    if isinstance(value, dict):
        return value
    return {}


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise errors.ConfigError(f"setting `{name}`: expected true or false")
    return value
