"""The measurements behind the project's figures. Each is named like its module, which says what it measures;
`python -m benchmarks` runs them."""

from typing import Final

NAMES: Final = (
    "empty_script",
    "small_lists",
    "start_and_memory",
    "masking",
    "pods_5000",
    "first_second",
    "sixteen_scripts",
    "guards",
    "far_cluster",
    "planned_writes",
    "plan_sizes",
    "series_10000",
    "command_lines",
    "audit",
    "replicas",
    "conversation_tokens",
    "classic_tools",
    "peer_times",
    "leaks",
    "read_only",
    "pods_50000",
    "many_callers",
    "safety_runs",
    "fleet",
    "observed_questions",
)
"""In the order in which they run and stand on the page."""
LONG: Final = frozenset({"pods_50000", "many_callers", "safety_runs", "fleet", "observed_questions"})
"""Only when they are named: loading 50,000 pods takes minutes, 6,000 scripts too, the safety benchmark most of an hour, and
Prometheus and Loki are built first."""
SHORT: Final = ("empty_script", "small_lists", "start_and_memory", "masking")
"""Those that have a `run_short`: what every script pays. They are meant to take two minutes together."""
