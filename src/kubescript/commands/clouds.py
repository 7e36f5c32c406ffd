"""The credentials of an `openstack` command line: the operator's entry in a clouds.yaml, or those in the request.

The settings choose one of the two, and the other is never used.
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
"""The keys of an entry whose values name files."""
_MAX_FILE: Final = 1 << 20
"""The maximum size of a file in bytes."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """One cloud and the credentials for it."""

    name: str
    clouds: str = field(repr=False)
    """The text of a clouds.yaml with only this cloud."""
    secure: str = field(default="", repr=False)
    """The text of a secure.yaml with only this cloud; empty if there is none."""
    auth_url: str = ""
    scope: str = ""
    """The region and the project, on which the cloud's service catalog may depend."""
    readable: tuple[str, ...] = ()
    """The files that the entry names."""
    lacks_project: bool = False
    """Whether a request has a token but no project."""


def of(settings: config.OpenStack, request: request_credentials.Credentials) -> Cloud:
    """Returns the cloud for a request. Raises AuthError for wrong credentials, and ConfigError for wrong settings."""
    if settings.auth_urls:
        return _of_request(settings, request)
    # A request with its own credentials must not act with those of the operator.
    if request.has_openstack:
        raise errors.AuthError(
            "this server has credentials of its own: leave out OS_TOKEN, OS_URL and the OS_PROJECT headers",
            code="auth.access",
        )
    return _of_operator(settings)


def _of_request(settings: config.OpenStack, request: request_credentials.Credentials) -> Cloud:
    """Returns the cloud that a request names, with its token."""
    token = request.os_token
    url = request_credentials.check_url(token, request.os_url, settings.auth_urls, "OS", "clouds")
    auth = {"auth_url": url, "token": token}
    if request.os_project_id:
        auth["project_id"] = request.os_project_id
    if request.os_project_name:
        auth["project_name"] = request.os_project_name
        # The name of a project is unique only in its domain.
        auth["project_domain_name"] = "Default"
    if request.os_project_domain_name:
        auth["project_domain_name"] = request.os_project_domain_name
    entry = {"auth_type": "v3token", "auth": auth, "identity_api_version": "3"}
    cloud = _cloud(settings, _DEFAULT_NAME, entry, None)
    has_project = request.os_project_id or request.os_project_name
    return replace(cloud, lacks_project=not has_project)


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
    secrets = None
    secure = path.with_name(_SECURE)
    if secure.is_file():
        secrets = _entries(secure).get(name)
    return _cloud(settings, name, entries[name], secrets)


def _find_file() -> Path:
    """Returns the clouds.yaml of this user, or of this machine. Raises ConfigError if neither exists."""
    # The current folder, which openstackclient also searches, is left out: over stdio the client chooses it, and a file
    # there could name the files that the process may read.
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
        clouds = yaml.safe_load(text)["clouds"]
        return {str(name): dict(entry) for name, entry in clouds.items()}
    except OSError as error:
        raise errors.ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError):
        # The parser's message quotes the file, which contains passwords.
        raise errors.ConfigError(
            f"{path} is no clouds.yaml", remedy="it has `clouds:`, and an entry for each"
        ) from None


def _cloud(settings: config.OpenStack, name: str, entry: Mapping[str, Any], secrets: Mapping[str, Any] | None) -> Cloud:
    """Returns a cloud from its entry, as modified by the settings."""
    changed = dict(entry)
    if settings.ca_cert is not None:
        changed["cacert"] = str(settings.ca_cert)
    if settings.insecure:
        changed["verify"] = False
    # The current folder of a process of openstack differs from that of this process.
    readable = []
    for key in _FILES:
        if changed.get(key):
            path = Path(str(changed[key]))
            file = str(section.with_home(path).absolute())
            changed[key] = file
            readable.append(file)
    auth = changed.get("auth")
    if not isinstance(auth, dict):
        auth = {}
    region = changed.get("region_name")
    scope = [region, _project(auth)]
    return Cloud(
        name,
        clouds=_write(name, changed),
        secure=_write(name, secrets) if secrets else "",
        auth_url=str(auth.get("auth_url", "")),
        scope=json.dumps(scope),
        readable=tuple(readable),
    )


def _write(name: str, entry: Mapping[str, Any]) -> str:
    """Returns a file with only this entry."""
    # JSON is valid YAML. A date, which exists in YAML but not in JSON, becomes a string.
    return json.dumps({"clouds": {name: entry}}, default=str)


def _project(auth: Mapping[str, Any]) -> list[str]:
    """Returns the entry's fields about its project, in a fixed order."""
    fields = []
    for name in sorted(auth):
        if name.startswith("project_"):
            field = f"{name}={auth[name]}"
            fields.append(field)
    return fields
