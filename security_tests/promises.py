"""What kubescript promises of its wall. Each promise has a test that cites it, and each test here cites a promise.

`source` says where the promise comes from: a decision of docs/security.md, an advisory, or a lesson of another sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["LAYERS", "PROMISES", "Layer", "Promise"]

Layer = Literal[
    "language",
    "kernel",
    "wire",
    "policy",
    "resources",
    "redaction",
    "faults",
    "audit",
    "output",
    "snapshot",
    "manifest",
]

LAYERS: Final[dict[Layer, str]] = {
    "language": "1 language",
    "kernel": "2 kernel, layer 1 fallen",
    "wire": "3 wire and broker, layers 1 and 2 fallen",
    "policy": "4 policy",
    "resources": "resources",
    "redaction": "redaction",
    "faults": "faults",
    "audit": "audit",
    "output": "output and telemetry",
    "snapshot": "saved clusters of strangers",
    "manifest": "the manifest itself",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise to the operator."""

    id: str
    layer: Layer
    text: str
    source: str


PROMISES: Final = (
    Promise("M-01", "manifest", "Each promise has a test and each test a promise.", "style guide 26"),
    Promise("L-01", "language", "No script reaches an object outside data, SDK and allowed library.", "decision 2, field notes 5c"),
    Promise("L-02", "language", "A program made of any allowed constructs binds no module, frame, code, file or foreign type.", "issue 4"),
    Promise("L-03", "language", "No library function sets, reads or calls a dunder name on a script's behalf.", "red team: copy, SimpleNamespace, dataclass"),
    Promise("K-01", "kernel", "A system call off the list is refused or kills the worker.", "decision 2"),
    Promise("K-02", "kernel", "No file, folder or device can be opened, made or changed.", "decision 2"),
    Promise("K-03", "kernel", "No socket of any family can be made, and the one there is leads to the host only.", "decision 2"),
    Promise("K-04", "kernel", "No process or thread can be started and no program run.", "decision 2"),
    Promise("K-05", "kernel", "No other process can be signalled, traced or read.", "decision 2"),
    Promise("K-06", "kernel", "No part of the confinement can be undone or left.", "decision 2, style guide 14"),
    Promise("K-07", "kernel", "The kernel's wide interfaces (io_uring, bpf, perf, keys, …) are out of reach.", "decision 2"),
    Promise("K-08", "kernel", "Data never becomes machine code.", "smolagents #2094: ctypes"),
    Promise("K-09", "kernel", "The filter's verdict is the same table on x86-64 and aarch64, and i386, x32 and arm are killed.", "issue 4"),
    Promise("K-10", "kernel", "The worker's socket is its only descriptor.", "style guide 13"),
    Promise("K-11", "kernel", "The worker has no environment.", "style guide 13"),
    Promise("K-12", "kernel", "No credential of the host is in any memory of a worker or the fork server.", "decision 1"),
    Promise("K-13", "kernel", "No page of a worker is shared with another process for writing.", "decision 2"),
    Promise("K-14", "kernel", "A worker is not root, has no capability, and can gain none.", "decision 2"),
    Promise("K-15", "kernel", "No worker outlives the fork server, nor the fork server the host.", "Phoenix #14784"),
    Promise("K-16", "kernel", "Hostile workers do not starve the host.", "issue 4"),
    Promise("K-17", "kernel", "All this holds for a host without privilege on a read-only root.", "decision 11"),
    Promise("K-18", "kernel", "A strict server does not run scripts where a layer is missing, and says which.", "decision 2"),
    Promise("K-19", "kernel", "Each step of the lockdown is what stops at least one attack.", "issue 4: done when"),
    Promise("K-20", "kernel", "The worker's socket carries bytes and nothing else: no descriptor, no credentials, no out-of-band data.", "red team: MSG_OOB, SCM_RIGHTS"),
    Promise("W-01", "wire", "A frame of wrong size, type, shape or encoding ends its worker.", "style guide 11"),
    Promise("W-02", "wire", "A frame out of turn ends its worker.", "style guide 12"),
    Promise("W-03", "wire", "A worker that floods, stalls or never reads costs the host bounded time and memory.", "style guide 17"),
    Promise("W-04", "wire", "A call that is not one plain API request never reaches the network.", "decision 6"),
    Promise("W-05", "wire", "No header, host, identity or second request can be smuggled into a call.", "decision 3"),
    Promise("W-06", "wire", "Any bytes at all end in an outcome, never in an exception or a hang.", "monty-proto frame.rs"),
    Promise("W-07", "wire", "A worker cannot speak in the host's name nor drown the answer in its words.", "decision 8"),
    Promise("W-09", "wire", "Calls made at the same time, and answers given up, are as bounded and counted as any.", "issue 5: parallel calls"),
    Promise("W-08", "wire", "Each bound on the wire is what stops at least one attack.", "issue 4: done when"),
    Promise("R-01", "resources", "Processor time is bounded by the deadline, in Python and in C.", "style guide 17"),
    Promise("R-02", "resources", "Memory is bounded, in Python and in C, and its end is named.", "decision 2"),
    Promise("R-03", "resources", "Depth is bounded, in Python and in C.", "issue 4"),
    Promise("R-04", "resources", "Output is bounded, whichever way it takes.", "FastMCP #4702, fallow #2498"),
    Promise("R-05", "resources", "API calls are bounded, also for a script that swallows every error.", "issue 4"),
    Promise("R-06", "resources", "No script keeps itself alive: swallowed exceptions, SystemExit, finalizers.", "style guide 17"),
    Promise("R-07", "resources", "A source of any shape is compiled or refused in bounded time and words.", "issue 4"),
    Promise("R-08", "resources", "No HTTP client keeps others out: what is half sent, unread or abandoned ends, and what is in use does not.", "red team: 1,100 half-sent requests"),
    Promise("R-09", "resources", "Progress reaches a client a few times a second at most, the last report always.", "red team: 10,000 reports"),
    Promise("P-01", "policy", "Every method of the official client has been tried, and only permitted requests reach the wire.", "issue 4"),
    Promise("P-02", "policy", "A read-only server sends GETs and the listed questions, nothing else.", "decision 6, kubernetes-mcp-server #377"),
    Promise("P-03", "policy", "No tunnel (exec, attach, port-forward, proxy) is opened, read-only or not.", "field notes 5d"),
    Promise("P-04", "policy", "What is denied is denied in every form, and what only looks like it is not.", "field notes 5d, K: transport"),
    Promise("P-05", "policy", "No value of any type or content becomes another path, query or resource.", "issue 4"),
    Promise("P-06", "policy", "Headers, identity, host and redirects are not in a script's hands.", "decision 3, field notes 5d"),
    Promise("P-07", "policy", "A hostile worker's calls reach no more than a script's.", "decision 2"),
    Promise("P-08", "policy", "Each part of the door is what stops at least one attack.", "issue 4: done when"),
    Promise("P-09", "policy", "Deciding costs the host bounded time and memory.", "style guide 17"),
    Promise("P-13", "policy", "Of what is served as metadata no value, key name or type reaches a worker, whatever a script asks for or an API server sends.", "issue 12"),
    Promise("P-14", "policy", "Read as a release (helm.sh), what Helm keeps gives a worker only fields on a list, masked, and only where the operator has turned the toolset on.", "issue 13"),
    Promise("S-01", "redaction", "At least 99 of 100 planted secrets are masked before a script sees them, and what leaks is listed by name.", "issue 6"),
    Promise("S-02", "redaction", "At most 1 of 1,000 look-alikes is touched, and the others survive byte for byte.", "issue 6"),
    Promise("S-03", "redaction", "However a body arrives in pieces, the same bytes come out.", "issue 6"),
    Promise("S-04", "redaction", "A masked body is JSON of the same shape.", "issue 6"),
    Promise("S-05", "redaction", "No transformation in a script rebuilds a planted value from anything that leaves.", "issue 6, decision 5"),
    Promise("S-06", "redaction", "Equal values have equal masks within a server, and masks of two servers have nothing in common.", "issue 6"),
    Promise("S-07", "redaction", "Hostile data costs the engine bounded time and memory, and never its JSON.", "style guide 17"),
    Promise("S-08", "redaction", "Logs, status pages, errors, help and saved clusters carry no planted value.", "issue 6"),
    Promise("S-09", "redaction", "A mask that a pod forged is not taken for ours.", "issue 6"),
    Promise("S-10", "redaction", "A script cannot confirm its guess of a value by having the guess masked.", "issue 6"),
    Promise("S-11", "redaction", "What masks runs where no credential, file, network or other process is, and not for long.", "issue 10: a process of its own"),
    Promise("S-12", "redaction", "A masker that dies, lies or never answers fails one call by name, and nothing passes unmasked.", "issue 10: a process of its own"),
    Promise("P-10", "policy", "No call reaches a context that is not on the operator's list.", "issue 5: contexts"),
    Promise("P-11", "policy", "Each context is reached under its own policy and with its own credentials only.", "issue 5: contexts"),
    Promise("P-12", "policy", "A rule that names nothing its group has denies the whole group, and the operator is told.", "review of issue 4"),
    Promise("F-01", "faults", "An API server that misbehaves is a named error in time, never an empty cluster.", "decision 8, issue 4"),
    Promise("F-02", "faults", "An API server that dies is missed only while it is gone.", "issue 4"),
    Promise("F-03", "faults", "A changed certificate is refused; an expired token is fetched anew.", "issue 4"),
    Promise("F-04", "faults", "A dead worker or fork server is named in time and replaced.", "Phoenix #14784"),
    Promise("F-05", "faults", "A server that dies or loses its client leaves no process behind.", "issue 4"),
    Promise("F-06", "faults", "A cancelled call frees its worker and its API request at once.", "smolagents #2197"),
    Promise("F-07", "faults", "A full disk leaves no half snapshot.", "issue 4"),
    Promise("O-01", "output", "No text that leaves holds a control character, an escape sequence or a letter nobody can see.", "seeds 000, issue 6"),
    Promise("O-02", "output", "Text of the cluster is marked as data, and no text can step out of its mark.", "issue 6"),
    Promise("O-03", "output", "What is called JSON is JSON, whatever a worker sends.", "issue 5"),
    Promise("O-04", "output", "No script can fill a monitoring system, and nothing it says reaches one.", "issue 6"),
    Promise("O-05", "output", "Writing an answer costs the server bounded time, whatever a script returns.", "style guide 17"),
    Promise("O-06", "output", "No text of the cluster is a row, a section or a field of its own in a tool's answer.", "issue 13"),
    Promise("F-08", "faults", "Nothing grows with the number of scripts.", "issue 4"),
    Promise("F-09", "faults", "Of several clusters a dead, slow or refusing one costs no other its answer, and is named.", "issue 5: contexts"),
    Promise("A-01", "audit", "No answer leaves before its script and every call beneath it are on record.", "issue 6"),
    Promise("A-02", "audit", "A call that may change something is on record before it is sent, or it is not sent.", "issue 6"),
    Promise("A-03", "audit", "A record that was changed, removed or moved is found and named.", "issue 6"),
    Promise("A-04", "audit", "No query value, body, header, result or other secret is on record.", "issue 6"),
    Promise("A-05", "audit", "Nobody but the server's user can read, redirect or replace the record.", "issue 6"),
    Promise("A-06", "audit", "Neither a script nor a client can write a record, or another's words into one.", "issue 6"),
    Promise("A-07", "audit", "The chain stays whole through crashes, many writers and rotation.", "issue 6"),
    Promise("A-09", "audit", "Whatever fails while an answer is written, its script's record keeps its id, its calls and its denials.", "red team: a cut mask"),
    Promise("S-13", "redaction", "No mask cuts a character, and no text is such that masking it raises.", "red team: a cut mask"),
    Promise("A-10", "audit", "No script pushes other records out by being denied: repeats are counted, and the counts add up.", "red team: 1,000 denials a second"),
    Promise("A-08", "audit", "A stranger's record may be read, exported and run again: it reaches no file but its own, and no terminal.", "issue 6: replay"),
    Promise("C-01", "snapshot", "A saved cluster that a stranger made reaches no file but its own.", "red team: a link in a must-gather"),
    Promise("C-02", "snapshot", "Whatever its files hold, opening and reading it takes bounded time and memory, and the rest is served.", "red team: YAML merge keys"),
    Promise("C-03", "snapshot", "An archive unpacks below its own folder, and to no more than a bound.", "style guide 17"),
)  # fmt: skip
