"""The source `cluster-profiles`: ClusterProfiles of the SIG's inventory API, and Secrets with credentials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kubescript.cluster import base
from kubescript.fleet import following, hub, objects

__all__ = ["ClusterProfiles"]

_GROUP: Final = "multicluster.x-k8s.io"
_LABEL: Final = "x-k8s.io/cluster-profile"
"""The label, of KEP-4322, by which a Secret says to which profile its credentials belong."""
_KUBECONFIG: Final = "Config"
_TOKEN: Final = "token"  # noqa: S105  the key's name
_PROVIDER: Final = "secretreader"
"""The SIG's provider whose credentials are a token in a Secret. Others are programs, of which none is run."""
_UNUSED: Final = frozenset({"extensions", "disable-compression"})
"""Fields that configure programs, or say what kubescript does by itself."""


class _Provider(msgspec.Struct, frozen=True):
    name: str
    cluster: dict[str, Any] = {}


class _Status(msgspec.Struct, frozen=True):
    access: list[_Provider] = msgspec.field(name="accessProviders", default_factory=list)
    credentials: list[_Provider] = msgspec.field(name="credentialProviders", default_factory=list)
    """The older name of the field."""


class _Profile(msgspec.Struct, frozen=True):
    metadata: objects.Metadata
    status: _Status = _Status()

    @property
    def cluster(self) -> dict[str, Any] | None:
        """The cluster's section of a kubeconfig; None if its credentials are no token in a Secret."""
        for provider in (*self.status.access, *self.status.credentials):
            if provider.name == _PROVIDER:
                return {key: value for key, value in provider.cluster.items() if key not in _UNUSED}
        return None


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
        # Attack: a profile that somebody makes in another namespace names a server of his, which gets the token of a
        # Secret in this one. Here, only a Secret with the label gives its token away.
        profiles = hub.Kind(_GROUP, "clusterprofiles", namespace, label_selector)
        secrets = hub.Kind("", "secrets", namespace, _LABEL)
        self._profiles = hub.Watch(cluster, profiles, _read_profile, most)
        self._secrets = hub.Watch(cluster, secrets, _read_secret, most)
        super().__init__(self._profiles, self._secrets)

    def find(self) -> Iterator[following.Candidate | following.Problem]:
        """See `following.Followed`."""
        secrets: dict[str, _Credentials] = {}
        for _, found in sorted(self._secrets.objects().items()):
            secrets.setdefault(found.profile, found)  # of several Secrets, the first by name
        for key, profile in self._profiles.objects().items():
            credentials = secrets.get(key.name)
            cluster = profile.cluster
            if credentials is None:
                yield following.Problem(key.name, f"no Secret beside it has the label {_LABEL}={key.name}")
            elif not credentials.is_token:
                yield following.Candidate(key.name, profile.metadata.labels, credentials.value)
            elif cluster is None:
                yield following.Problem(key.name, f"its status has no access provider {_PROVIDER}")
            else:
                content = objects.kubeconfig(cluster, credentials.value)
                yield following.Candidate(key.name, profile.metadata.labels, content)


def _read_profile(content: bytes) -> _Profile:
    return msgspec.json.decode(content, type=_Profile)


def _read_secret(content: bytes) -> _Credentials:
    secret = objects.read_secret(content, (_KUBECONFIG, _TOKEN))
    return _Credentials(secret.labels[_LABEL], secret.value, secret.key == _TOKEN)
