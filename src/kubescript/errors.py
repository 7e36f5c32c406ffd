"""Every exception that kubescript raises on the host, in one tree.

    KubescriptError
    ├── ConfigError          the operator's settings; the server does not start
    ├── RequestError         a call that cannot be built or classified; the script may go on
    ├── AuthError            a caller who is not authenticated, or may not use the server
    ├── PolicyDenied         a call the policy refuses; the script may go on
    ├── ClusterError         the API server did not answer, or not completely; the script may go on
    ├── LimitExceeded        a budget of the script is used up; the script ends
    ├── RedactionError       a text cannot be masked, and is withheld
    ├── WorkerError          the sandboxed process died or broke the protocol; the next script gets a new one
    ├── PlanError            a plan that cannot be approved or applied; nothing more is sent
    │   └── PlanLost         a plan whose application was interrupted
    ├── RunbookError         a runbook that cannot be called; the script may go on
    ├── AuditError           a request cannot be recorded, so it is not carried out until recording works again
    └── Busy                 every worker is taken and the queue is full; nothing was run

Each error carries a stable `code` for programs, a `message` for the model (what happened and what to write instead)
and, where someone else has to act, a `remedy` for the operator. Neither ever contains a stack trace or a secret. A
script that fails is not an exception but an `Outcome` (see types.py).
"""

from __future__ import annotations

from typing import Final

from kubescript_masking.errors import RedactionError
from kubescript_sandbox.errors import CodedError as KubescriptError
from kubescript_sandbox.errors import LimitExceeded, WorkerError

__all__ = [
    "PLAIN_CODES",
    "AuditError",
    "AuthError",
    "Busy",
    "ClusterError",
    "ConfigError",
    "KubescriptError",
    "LimitExceeded",
    "PlanError",
    "PlanLost",
    "PolicyDenied",
    "RedactionError",
    "RequestError",
    "RunbookError",
    "WorkerError",
]


class ConfigError(KubescriptError):
    """A setting is unknown, malformed or contradictory. Codes: `config.*`."""

    default_code = "config.invalid"


class RequestError(KubescriptError):
    """A call from the sandbox cannot be turned into one API request. Codes: `request.*`."""

    default_code = "request.invalid"


class AuthError(KubescriptError):
    """The caller is not authenticated, or may not do this. Codes: `auth.token` (401), `auth.scope` and `auth.access`
    (403), `auth.unavailable` (503: the identity provider is unavailable)."""

    default_code = "auth.token"


class PolicyDenied(KubescriptError):
    """The policy refuses the call. Codes: `policy.*` and `writes.*`, each a rule's id."""

    default_code = "policy.denied"


class ClusterError(KubescriptError):
    """The API server did not answer, or its answer was cut short. Codes: `cluster.unreachable`, `.tls`, `.auth`,
    `.timeout`, `.cancelled`, `.broken`, `.config`, `.not_captured`, `.too_large`, `.late`.
    """

    default_code = "cluster.unreachable"
    is_unsent = False
    """Whether it is certain that no byte of the request was sent."""


PLAIN_CODES: Final = frozenset({"cluster.unreachable", "cluster.timeout"})
"""Codes of ClusterErrors whose text contains only an operator's address and the system's words, but none from the
cluster.
"""


class PlanError(KubescriptError):
    """A plan cannot be made, approved or applied. Codes: `plan.unknown`, `.expired`, `.decided`, `.changed`,
    `.session`, `.policy`, `.script`, `.approver`, `.override`, `.store`, `.too_large`, `.nobody`,
    `.no_dry_run`, `.unreadable`, `.overlap`, `.audit`, `.author`, `.runbook`, `.failed`.
    """

    default_code = "plan.failed"


class PlanLost(PlanError):
    """A plan whose application was interrupted; the message lists the changes made, partly in the cluster's words."""


class RunbookError(KubescriptError):
    """A runbook is not run, or has failed. Codes: `runbook.none`, `.name`, `.unreadable`, `.locked`, `.header`,
    `.arguments`, `.nested`, `.limit`, `.output`, `.failed`."""

    default_code = "runbook.failed"


class AuditError(KubescriptError):
    """A request cannot be recorded, so it is not carried out, or its answer is withheld. Codes: `audit.unavailable`,
    `.broken`.
    """

    default_code = "audit.unavailable"


class Busy(KubescriptError):
    """All workers are taken and the queue is full. Code: `server.busy`."""

    default_code = "server.busy"
