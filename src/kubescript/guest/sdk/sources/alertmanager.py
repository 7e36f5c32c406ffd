"""Provides `alertmanager`: its alerts and silences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kubescript.guest.sdk.sources import source

__all__ = ["Alertmanager"]

Filter = str | list[str] | Mapping[str, str] | None


class Alertmanager(source.Source):
    """The alerts and silences of an Alertmanager."""

    __slots__ = ()

    _help = (
        "{name}: alerts and silences.\n"
        "{name}.alerts(filter='severity=\"critical\"', silenced=False): a list of alerts with .labels, .annotations, "
        ".startsAt, .status.state, .status.silencedBy and .receivers.\n"
        "{name}.silences(), expired too: .id, .matchers, .createdBy, .comment, .startsAt, .endsAt, .status.state.\n"
        "filter: a matcher as text, a list of them, or a dict of labels.\n"
        "namespace='shop' in each call, where the source shows one namespace at a time."
    )

    def alerts(
        self,
        filter: Filter = None,  # noqa: A002  the API's name
        active: bool | None = None,
        silenced: bool | None = None,
        inhibited: bool | None = None,
        receiver: str | None = None,
        unprocessed: bool | None = None,
        *,
        namespace: str | None = None,
    ) -> Any:
        """The current alerts that have all these labels; silenced and inhibited ones too, unless these are False."""
        body = self._ask(
            "alerts",
            filter=_matchers(filter),
            active=active,
            silenced=silenced,
            inhibited=inhibited,
            unprocessed=unprocessed,
            receiver=receiver,
            namespace=namespace,
        )
        return self._wrap_list("alerts", body)

    def silences(self, filter: Filter = None, *, namespace: str | None = None) -> Any:  # noqa: A002
        """The silences, those that have expired lately too: .status.state is "active", "pending" or "expired"."""
        return self._wrap_list("silences", self._ask("silences", filter=_matchers(filter), namespace=namespace))


def _matchers(given: Any) -> Any:
    """Returns matchers as Alertmanager writes them."""
    if not isinstance(given, Mapping):
        return given
    return [f"{name}={msgspec.json.encode(str(value)).decode()}" for name, value in given.items()]
