"""The settings of sources, as an operator writes them."""

from __future__ import annotations

__all__ = ["table"]


def table(name: str, kind: str, url: str, *more: str) -> str:
    """The table of one source, with further lines."""
    return "\n".join((f"[sources.{name}]", f'kind = "{kind}"', f'url = "{url}"', *more, ""))
