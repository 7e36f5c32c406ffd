"""What leaks: passwords that were planted in a cluster, read by the tools of each server with its defaults.

A place is only called masked if an answer has what stands beside the password, and none has the password. Of the last
place, no name, no shape and no randomness says that it is a password.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import clusters, planted, report, servers
from benchmarks.peers import setups
from benchmarks.questions import Call

__all__ = ["run"]


def run() -> Iterator[report.Row | str]:
    """The lines of this benchmark, one for each place and server."""
    with clusters.broken() as given, tempfile.TemporaryDirectory() as folder:
        planted.plant(given)
        calls = planted.calls(planted.find_logging(given))
        kubeconfig = Path(folder) / "kubeconfig"
        planted.write_inline(given, kubeconfig)
        places = [*planted.PLACES, planted.own_key(kubeconfig)]
        with servers.kubescript(kubeconfig) as subject, setups.start_all(kubeconfig) as (peers, notes):
            yield from notes
            kubectl = setups.Kubectl(kubeconfig)
            all_of_them: dict[str, setups.Asked] = {"kubescript": subject, **peers, setups.KUBECTL: kubectl}
            for name, asked in all_of_them.items():
                answers = [(call[0], _answer(asked, call)) for call in calls[name]]
                yield from (f"{name}: {place.what}: {_fate(place, answers)}" for place in places)


def _answer(asked: setups.Asked, call: Call) -> str:
    """The whole result, or why there is none."""
    try:
        return json.dumps(asked.call(*call).result, ensure_ascii=False)
    except RuntimeError as error:
        return f"refused: {error}"


def _fate(place: planted.Place, answers: Sequence[tuple[str, str]]) -> str:
    """The tools that show the password; otherwise whether its place was read at all."""
    shown = {tool: None for tool, answer in answers if place.password in answer}
    if shown:
        return f"shown by {', '.join(shown)}"
    encoded = {tool: None for tool, answer in answers if place.encoded in answer}
    if encoded:
        return f"shown in base64 by {', '.join(encoded)}"
    is_read = any(place.beside in answer for _, answer in answers)
    return "masked" if is_read else "withheld"
