"""What the operator can do about a source that refuses requests, as the server's log and `kubescript doctor` say it."""

from __future__ import annotations

from kubescript import config

__all__ = ["for_status", "for_stranger"]


def for_status(name: str, settings: config.Source, status: int) -> str:
    """Returns the remedy for an answer with this status; empty if the operator need not do anything."""
    if status not in {401, 403}:
        return ""
    if settings.service is not None:
        namespace, _, service = settings.service.partition("/")
        # RBAC takes the port as a part of the name.
        return (
            f"the account needs a Role in namespace {namespace} with verbs [get], resources [services/proxy] and "
            f'resourceNames ["{service}"], unless the source itself refuses it: the proxy passes no token on'
        )
    if settings.auth == "caller":
        return ""
    return f"check auth, token_file, basic_auth_file, cert_file and tenant of [sources.{name}]"


def for_stranger(name: str, settings: config.Source) -> str:
    """Returns the remedy for an answer that no source would give: a redirect, or a page."""
    setting = "service" if settings.service is not None else "url"
    return f"`{setting}` of [sources.{name}] must lead to the source itself, not to a login page or a redirect"
