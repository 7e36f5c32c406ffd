"""The promises that test_policy.py, tests/test_faults.py and tests/test_soak.py keep: to be merged into promises.py."""

from __future__ import annotations

from typing import Final

from security_tests.promises import Promise

__all__ = ["POLICY_AND_FAULTS"]

POLICY_AND_FAULTS: Final = (
    Promise("P-01", "policy", "Every method of the official client has been tried, and only permitted requests reach the wire.", "issue 4"),
    Promise("P-02", "policy", "A read-only server sends GETs and the listed questions, nothing else.", "decision 6, kubernetes-mcp-server #377"),
    Promise("P-03", "policy", "No tunnel (exec, attach, port-forward, proxy) is opened, read-only or not.", "field notes 5d"),
    Promise("P-04", "policy", "What is denied is denied in every form, and what only looks like it is not.", "field notes 5d, K: transport"),
    Promise("P-05", "policy", "No value of any type or content becomes another path, query or resource.", "issue 4"),
    Promise("P-06", "policy", "Headers, identity, host and redirects are not in a script's hands.", "decision 3, field notes 5d"),
    Promise("P-07", "policy", "A hostile worker's calls reach no more than a script's.", "decision 2"),
    Promise("P-08", "policy", "Each part of the door is what stops at least one attack.", "issue 4: done when"),
    Promise("P-09", "policy", "Deciding costs the host bounded time and memory.", "style guide 17"),
    Promise("F-01", "faults", "An API server that misbehaves is a named error in time, never an empty cluster.", "decision 8, issue 4"),
    Promise("F-02", "faults", "An API server that dies is missed only while it is gone.", "issue 4"),
    Promise("F-03", "faults", "A changed certificate is refused; an expired token is fetched anew.", "issue 4"),
    Promise("F-04", "faults", "A dead worker or fork server is named in time and replaced.", "Phoenix #14784"),
    Promise("F-05", "faults", "A server that dies or loses its client leaves no process behind.", "issue 4"),
    Promise("F-06", "faults", "A cancelled call frees its worker and its API request at once.", "smolagents #2197"),
    Promise("F-07", "faults", "A full disk leaves no half snapshot.", "issue 4"),
    Promise("F-08", "faults", "Nothing grows with the number of scripts.", "issue 4"),
)  # fmt: skip
