"""The questions as rhobs/obs-mcp and kubectl are asked them: the least calls that can answer.

obs-mcp's answers have its own shape, as compact JSON: a query's series whole, alerts and silences without what Alertmanager
adds, and log lines only, a thousand a call at most. kubectl is asked for columns, which mcp-server-kubernetes passes on.
"""

from __future__ import annotations

import json
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2

from benchmarks import npm, stdio
from benchmarks.observed.estate import pods
from benchmarks.peers import setups

__all__ = ["Others"]

_MOST_LINES: Final = 1000
_TOOLS: Final = {"instant": "execute_instant_query", "logs": "loki_query_range", "alerts": "get_alerts"}
_ALERT: Final = ("labels", "annotations", "startsAt", "endsAt", "status")
_SILENCE: Final = ("id", "status", "matchers", "startsAt", "endsAt", "createdBy", "comment")
_NAMES: Final = {f"{pod.app.name}{pod.number}": pod.name for pod in pods() if not pod.is_gone}
_SETS: Final = {f"{pod.app.name}_set": pod.name.rpartition("-")[0] for pod in pods() if not pod.is_gone}


class Others:
    """Prometheus, Alertmanager and Loki at their addresses, and kubectl."""

    def __init__(self, urls: Mapping[str, str], kubeconfig: Path) -> None:
        self._urls = urls
        self._kubectl = setups.Kubectl(kubeconfig)

    def pay(self, calls: Sequence[Sequence[Any]]) -> tuple[int, int]:
        """Makes the calls of a question: how many there are, and their tokens with those of the answers."""
        texts = [text for kind, *words in calls for text in self._ask(str(kind), *words)]
        return len(texts) // 2, sum(npm.count_tokens(texts))

    def _ask(self, kind: str, word: str = "", minutes: int = 0) -> Iterator[str]:
        """The call and its answer; several of them where the lines are more than one call gives."""
        text = string.Template(word).safe_substitute(_NAMES | _SETS)
        if kind == "kubectl":
            command = {"command": f"kubectl {text}"}
            yield _json({"name": "kubectl", "arguments": command})
            yield stdio.text(self._kubectl.call("kubectl", command))
        elif kind == "logs":
            yield from self._logs(text, minutes)
        else:
            arguments = {"query" if kind == "instant" else "filter": text} if text else {}
            yield _json({"name": _TOOLS.get(kind, "get_silences"), "arguments": arguments})
            yield _json(self._query(text) if kind == "instant" else self._managed(kind, text))

    def _query(self, query: str) -> Any:
        return self._get("prometheus", "/api/v1/query", query=query)["data"]

    def _managed(self, kind: str, text: str) -> Any:
        if kind == "silences":
            return {"silences": [_only(each, _SILENCE) for each in self._get("alertmanager", "/api/v2/silences")]}
        name, _, value = text.partition("=")
        options = {"receiver": value} if name == "receiver" else {"filter": text} if text else {}
        found = self._get("alertmanager", "/api/v2/alerts", **options)
        return {"alerts": [_only(each, _ALERT) for each in found]}

    def _logs(self, query: str, minutes: int) -> Iterator[str]:
        end = time.time_ns()
        start = end - minutes * 60 * 10**9
        while True:
            options = {"start": str(start), "end": str(end), "limit": str(_MOST_LINES), "direction": "backward"}
            found = self._get("loki", "/loki/api/v1/query_range", query=query, **options)["data"]
            streams = [_stream(each) for each in found["result"]]
            moments = [int(entry["timestamp"]) for stream in streams for entry in stream["entries"]]
            arguments = {"query": query, "duration": f"{minutes}m", "limit": _MOST_LINES}
            yield _json({"name": _TOOLS["logs"], "arguments": arguments})
            yield _json({"resultType": "streams", "streams": streams})
            if len(moments) < _MOST_LINES:
                return
            end = min(moments)

    def _get(self, kind: str, path: str, **options: str) -> Any:
        return httpx2.get(f"{self._urls[kind]}{path}", params=options).raise_for_status().json()


def _stream(found: Any) -> dict[str, Any]:
    entries = [{"timestamp": moment, "line": line} for moment, line, *_ in found["values"]]
    return {"labels": found["stream"], "entries": entries}


def _only(found: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    return {name: found[name] for name in fields}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
