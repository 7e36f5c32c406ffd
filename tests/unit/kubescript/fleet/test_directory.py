"""What a caller's questions about clusters cost the host."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from kubescript import config
from kubescript.fleet import directory, fleet, member


class Labels(Mapping[str, str]):
    """Labels that note who reads them."""

    def __init__(self) -> None:
        self.reads = 0
        self.overlaps = 0
        self._reading = threading.Lock()

    def __getitem__(self, key: str) -> str:
        self.reads += 1
        if not self._reading.acquire(blocking=False):
            self.overlaps += 1
            return "prod"
        time.sleep(0.01)
        self._reading.release()
        return "prod"

    def __iter__(self) -> Iterator[str]:
        return iter(("env",))

    def __len__(self) -> int:
        return 1


def test_selectors_are_answered_one_at_a_time_and_once_for_the_same_clusters() -> None:
    """Eight calls of a script keep one thread busy; the answer is another one when the clusters are others."""
    found = fleet.Fleet(None, 10)
    settings = config.Settings(fleet=config.Fleet(source="secrets", label_selector="a=b"))
    known = directory.Directory(settings, found)
    labels = Labels()
    found._publish({"one": member.Member("one", labels, b"", "1")})
    wanted = [f"env=prod{',env' * number}" for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda selector: known.select(selector, ""), wanted)) == [["one"]] * 8
    reads = labels.reads
    assert reads >= 8 and labels.overlaps == 0
    assert [known.select(selector, "") for selector in wanted] == [["one"]] * 8
    assert labels.reads == reads
    found._publish({"two": member.Member("two", {"env": "test"}, b"", "1")})
    assert [known.select(selector, "") for selector in (wanted[0], "env=test")] == [[], ["two"]]
