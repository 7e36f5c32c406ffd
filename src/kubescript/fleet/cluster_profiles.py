"""The source `cluster-profiles`: ClusterProfiles of the SIG's inventory API, and Secrets with credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from kubescript.cluster import base
from kubescript.fleet import following, hub, objects

__all__ = ["ClusterProfiles"]

_GROUP: Final = "multicluster.x-k8s.io"
_LABEL: Final = "x-k8s.io/cluster-profile"
"""The label, of KEP-4322, by which a Secret says to which profile its credentials belong."""
_KUBECONFIG: Final = "Config"
_TOKEN: Final = "token"  # noqa: S105 - the name of a key
_PROVIDER: Final = "secretreader"
"""The SIG's provider whose credentials are a token in a Secret. Others are programs, of which none is run."""
_UNUSED: Final = frozenset({"extensions", "disable-compression"})
"""Fields that configure programs, or say what kubescript does by itself."""


class _Provider(msgspec.Struct, frozen=True):
    name: str
    cluster: dict[str, msgspec.Raw] = {}


class _Status(msgspec.Struct, frozen=True):
    access: list[_Provider] = msgspec.field(name="accessProviders", default_factory=list)
    credentials: list[_Provider] = msgspec.field(name="credentialProviders", default_factory=list)
    """The older name of the field."""


class _Written(msgspec.Struct, frozen=True):
    metadata: objects.Metadata
    status: _Status = _Status()


@dataclass(frozen=True, slots=True)
class _Profile:
    """What is kept of a ClusterProfile."""

    labels: Mapping[str, str]
    cluster: msgspec.Raw | None
    """The cluster's section of a kubeconfig; None if its credentials are no token in a Secret."""


@dataclass(frozen=True, slots=True)
class _Credentials:
    """What a Secret has for a profile: a kubeconfig, or a token for the profile's server."""

    profile: str
    value: bytes = field(repr=False)
    is_token: bool = False


class ClusterProfiles(following.Followed):
    """Profiles of one namespace."""

    def __init__(self, cluster: base.Cluster, namespace: str, label_selector: str, most: int) -> None:
        """`label_selector` selects ClusterProfiles. At most `most` of them are kept."""
        # Attack: a profile made in another namespace names an attacker's server, which gets the token of a Secret in
        # this one. Here, only a Secret with the label gives its token away.
        profiles = objects.Kind(_GROUP, "clusterprofiles", namespace, label_selector)
        secrets = objects.Kind("", "secrets", namespace, _LABEL)
        self._profiles = hub.Watch(cluster, profiles, _read_profile, most)
        self._secrets = hub.Watch(cluster, secrets, _read_secret, most)
        super().__init__(self._profiles, self._secrets)

    def find(self) -> Iterator[following.Candidate | following.Problem]:
        """See `following.Followed`."""
        secrets: dict[str, list[_Credentials]] = {}
        for found in self._secrets.objects().values():
            secrets.setdefault(found.profile, []).append(found)
        for key, profile in self._profiles.objects().items():
            yield _find(key.name, profile, secrets.get(key.name, []))


def _find(name: str, profile: _Profile, secrets: list[_Credentials]) -> following.Candidate | following.Problem:
    """Returns what one profile and its Secrets make of a cluster."""
    if not secrets:
        return following.Problem(name, f"no Secret beside it has the label {_LABEL}={name}")
    # Attack: a new Secret sends all calls for a profile, with the labels that others gave it, to a server of its own.
    if len(secrets) > 1:
        return following.Problem(name, f"several Secrets have the label {_LABEL}={name}: keep one")
    (credentials,) = secrets
    if not credentials.is_token:
        return following.Candidate(name, profile.labels, credentials.value)
    if profile.cluster is None:
        return following.Problem(name, f"its status has no access provider {_PROVIDER}")
    return following.Candidate(name, profile.labels, objects.write_kubeconfig(profile.cluster, credentials.value))


def _read_profile(content: bytes) -> _Profile:
    profile = msgspec.json.decode(content, type=_Written)
    return _Profile(profile.metadata.labels, _section(profile.status))


def _section(status: _Status) -> msgspec.Raw | None:
    """Returns the section of the provider, as it is written. Raises ValueError if it is too large."""
    for provider in (*status.access, *status.credentials):
        if provider.name == _PROVIDER:
            section = msgspec.json.encode({k: v for k, v in provider.cluster.items() if k not in _UNUSED})
            if len(section) > objects.MAX_BYTES:
                raise ValueError(f"the cluster of its access provider is larger than {objects.MAX_BYTES >> 10} KiB")
            return msgspec.Raw(section)
    return None


def _read_secret(content: bytes) -> _Credentials:
    secret = objects.read_secret(content, (_KUBECONFIG, _TOKEN))
    return _Credentials(secret.labels[_LABEL], secret.value, secret.key == _TOKEN)
