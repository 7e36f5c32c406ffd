"""The toolset `observability`: metrics, alerts and logs of the operator's sources, for those who want tools in place of
scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from kubescript.toolsets import base, classic

__all__ = ["toolset"]

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "prometheus_query": ("prometheus",),
    "prometheus_query_range": ("prometheus",),
    "alerts": ("alertmanager", "prometheus"),
    "logs": ("loki",),
}
"""The tools, and the kinds of sources that each asks."""
_MOST_NAMES: Final = 10
"""How many sources a definition names; an unknown name's error lists all."""


def toolset(
    access: base.Access, sources: Mapping[str, str], namespaced: AbstractSet[str], told: AbstractSet[str]
) -> base.Toolset:
    """Returns the toolset, with those tools for which there is a source. `sources` are their kinds by name;
    `namespaced` are those that show one namespace at a time, and `told` those whose names the operator has given."""

    async def prepare(_cluster: str) -> Mapping[str, object]:
        return {"namespaced": sorted(namespaced)} if namespaced else {}

    tools: list[base.Tool] = []
    for name, kinds in _KINDS.items():
        names = [each for each, kind in sources.items() if kind in kinds]
        if not names:
            continue
        # Only `alerts` has a namespace for another purpose, too.
        host = classic.HostPart(prepare=prepare) if name == "alerts" else classic.HostPart()
        (tool,) = classic.tools(access, (name,), host)
        # Attack: the names of a stranger's saved sources speak to the model in the definition.
        shown = names if told >= set(names) or len(names) == 1 else ()
        _fit(tool, shown, is_namespaced=name == "alerts" or not namespaced.isdisjoint(names))
        tools.append(tool)
    return base.Toolset("observability", "metrics, alerts and logs", tuple(tools), instructions=classic.INSTRUCTIONS)


def _fit(tool: base.Tool, names: Sequence[str], *, is_namespaced: bool) -> None:
    """Leaves out of a definition the arguments that have no purpose with these sources."""
    properties = tool.definition.input_schema["properties"]
    if len(names) == 1:
        del properties["source"]
    elif 0 < len(names) <= _MOST_NAMES:
        properties["source"]["enum"] = list(names)
    if not is_namespaced:
        properties.pop("namespace", None)  # Loki has none
