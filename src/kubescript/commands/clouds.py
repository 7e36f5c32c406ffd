"""The credentials of an `openstack` command line: the operator's entry in a clouds.yaml, or those in the request.

The settings choose one of the two, and the other is never used: a request with its own credentials is refused where the
operator's are used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from kubescript import config, errors
from kubescript.commands import request_credentials
from kubescript.config import section

__all__ = ["Cloud", "of"]

_CLOUDS: Final = "clouds.yaml"
_SECURE: Final = "secure.yaml"
_DEFAULT_NAME: Final = "openstack"
_FILES: Final = ("cacert", "cert", "key")
"""Keys of an entry that name files."""
_MAX_FILE: Final = 1 << 20
"""Bytes of a file."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """One cloud and the credentials for it."""

    name: str
    clouds: str = field(repr=False)
    """Text of a clouds.yaml with only this cloud."""
    secure: str = field(default="", repr=False)
    """Text of a secure.yaml with only this cloud; empty without one."""
    auth_url: str = ""
    scope: str = ""
    """The region and project, on which its service catalog may depend."""
    readable: tuple[str, ...] = ()
    """Files named in the entry."""
    lacks_project: bool = False
    """Whether a request has a token but no project."""


def of(settings: config.OpenStack, request: request_credentials.Credentials) -> Cloud:
    """Returns the cloud for a request. Raises AuthError for wrong credentials, and ConfigError."""
    if settings.auth_urls:
        return _of_request(settings, request)
    if request.has_openstack:
        raise errors.AuthError(
            "this server has credentials of its own: leave out OS_TOKEN, OS_URL and the OS_PROJECT headers",
            code="auth.access",
        )
    return _of_operator(settings)


def _of_request(settings: config.OpenStack, request: request_credentials.Credentials) -> Cloud:
    """Returns the cloud that a request names, with its token."""
    url = request_credentials.check_url(request.os_token, request.os_url, settings.auth_urls, "OS", "clouds")
    auth = {"auth_url": url, "token": request.os_token}
    project = {
        "project_id": request.os_project_id,
        "project_name": request.os_project_name,
        "project_domain_name": request.os_project_domain_name or ("Default" if request.os_project_name else ""),
    }
    auth |= {key: value for key, value in project.items() if value}
    entry = {"auth_type": "v3token", "auth": auth, "identity_api_version": "3"}
    cloud = _cloud(settings, _DEFAULT_NAME, entry, None)
    return replace(cloud, lacks_project=not (request.os_project_id or request.os_project_name))


def _of_operator(settings: config.OpenStack) -> Cloud:
    """Returns the operator's cloud. Raises ConfigError."""
    path = settings.clouds_file or _find_file()
    entries = _entries(path)
    name = settings.cloud or _DEFAULT_NAME
    if not settings.cloud and len(entries) == 1:
        (name,) = entries
    if name not in entries:
        known = ", ".join(entries) or "none"
        raise errors.ConfigError(f"{path} has no cloud `{name}`", remedy=f"name one with openstack.cloud: {known}")
    secure = path.with_name(_SECURE)
    secrets = _entries(secure).get(name) if secure.is_file() else None
    return _cloud(settings, name, entries[name], secrets)


def _find_file() -> Path:
    """Returns the clouds.yaml of this user, or of this machine. Raises ConfigError if neither exists."""
    # Not the current folder, which openstackclient also searches: over stdio the client chooses it, and a file there
    # could name the files that the process may read.
    folders = (Path.home() / ".config" / "openstack", Path("/etc/openstack"))
    for folder in folders:
        if (folder / _CLOUDS).is_file():
            return folder / _CLOUDS
    raise errors.ConfigError(
        "this server has no credentials for OpenStack",
        remedy="write a clouds.yaml (openstack.clouds_file), or set openstack.auth_urls for credentials by header",
    )


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    """Returns the clouds in a file. Raises ConfigError, which quotes nothing from it."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_FILE + 1)
        if len(text) > _MAX_FILE:
            raise errors.ConfigError(f"{path} has more than {_MAX_FILE >> 20} MiB")
        loaded = yaml.safe_load(text)
        found = {str(name): dict(entry) for name, entry in loaded["clouds"].items()}
    except OSError as error:
        raise errors.ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError):
        raise errors.ConfigError(
            f"{path} is no clouds.yaml", remedy="it has `clouds:`, and an entry for each"
        ) from None
    return found


def _cloud(settings: config.OpenStack, name: str, entry: Mapping[str, Any], secrets: Mapping[str, Any] | None) -> Cloud:
    """Returns a cloud from its entry, as modified by the settings. JSON is valid YAML."""
    changed = dict(entry)
    if settings.ca_cert is not None:
        changed["cacert"] = str(settings.ca_cert)
    if settings.insecure:
        changed["verify"] = False
    # A process of openstack has another current folder than this one.
    files = {}
    for key in _FILES:
        if changed.get(key):
            file = section.with_home(Path(str(changed[key])))
            files[key] = str(file.absolute())
    changed |= files
    auth = changed.get("auth")
    auth = auth if isinstance(auth, dict) else {}
    return Cloud(
        name,
        json.dumps({"clouds": {name: changed}}, default=str),
        json.dumps({"clouds": {name: secrets}}, default=str) if secrets else "",
        auth_url=str(auth.get("auth_url", "")),
        scope=json.dumps([changed.get("region_name"), _project(auth)]),
        readable=tuple(files.values()),
    )


def _project(auth: Mapping[str, Any]) -> list[str]:
    """Returns the entry's fields about its project, in a fixed order."""
    pairs = sorted(auth.items())
    return [f"{key}={value}" for key, value in pairs if key.startswith("project_")]
