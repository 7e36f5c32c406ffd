"""A short soak: what `python -m benchmarks.soak` does with 10,000 scripts, here with 200 or fewer."""

from __future__ import annotations

import pytest

from benchmarks import soak
from kubescript_masking.host import pool
from tests.kit import extent

pytestmark = pytest.mark.sampled

SCRIPTS = extent.count(200, 60)
GROWTH_KIB = 16 * 1024


@pytest.mark.timeout(900)
@pytest.mark.promise("F-08")
def test_nothing_grows_with_the_number_of_scripts() -> None:
    """After scripts of every fate the server has as many descriptors and processes as before, and no more memory to
    speak of."""
    report = soak.run(SCRIPTS, samples=4)
    print(report.as_text())
    assert report.wrong == []
    assert set(report.fates) == set(soak.FATES)
    first = report.samples[0]
    assert {(one.descriptors, one.processes) for one in report.samples} == {(first.descriptors, first.processes)}
    assert first.processes == 4 + pool._SIZE  # host, a fork server of workers and its spare, one of maskers and its own
    assert all(one.host_kib - first.host_kib < GROWTH_KIB for one in report.samples)
    assert all(one.fork_server_kib - first.fork_server_kib < GROWTH_KIB // 4 for one in report.samples)
    assert all(one.threads - first.threads <= 4 for one in report.samples)
