"""Defines the exceptions that a script may catch; their names are the official client's.

Exception
├── ApiException                        the API server or the policy refused a call, or the cluster failed;
│   │                                   it has `.status`, `.reason`, `.body` and `.message`
│   ├── BadRequestException             400
│   ├── UnauthorizedException           401
│   ├── ForbiddenException              403, policy denials too
│   ├── NotFoundException               404
│   ├── ConflictException               409
│   ├── UnprocessableEntityException    422
│   └── ServiceException                5xx
└── LimitExceeded                       a budget of the script is used up; the host ends the script soon
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.values import masks
from kubescript.kube import kinds
from kubescript_sandbox.guest.faults import LimitExceeded
from kubescript_sandbox.wire.protocol import ScriptFault

__all__ = [
    "ApiException",
    "BadRequestException",
    "ConflictException",
    "ForbiddenException",
    "LimitExceeded",
    "MetadataOnlyError",
    "NotFoundException",
    "ServiceException",
    "UnauthorizedException",
    "UnprocessableEntityException",
    "class_for",
    "from_answer",
    "from_fault",
    "phrase",
]

# A user's name without spaces, so that no name reads as a sentence of ours.
_REFUSED: Final = re.compile(
    r'(?:User "(?P<user>[\w.:@/-]{1,100})" )?cannot (?P<verb>[a-z]{1,20}) resource "(?P<resource>[a-z0-9./-]{1,100})"'
)
MAX_MESSAGE: Final = 2_000
"""How many characters of an API server's message `str(error)` shows."""


class ApiException(Exception):
    """A call failed. `status` is the HTTP status, 0 when no API server was asked; `code` is set when kubescript itself
    refused."""

    def __init__(
        self,
        status: int | None = None,
        reason: str | None = None,
        http_resp: object = None,
        *,
        body: str | None = None,
        data: object = None,
        message: str = "",
        headers: Mapping[str, str] | None = None,
        code: str = "",
        call: str = "",
    ) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason
        self.body = body
        self.data = data
        self.message = message or reason or ""
        self.headers = dict(headers or {})
        self.code = code
        self.call = call
        self._tells_all = False
        """Whether the message names the call; then the script's line need not be quoted."""
        # A hint may cost an API call (name_hints.py), so it is computed only when the error's text is read.
        self._advice: Callable[[], str] | None = None

    @property
    def hint(self) -> str:
        """What to do instead; it may cost an API call."""
        return self._advice() if self._advice else ""

    def __str__(self) -> str:
        status = str(self.status or "")
        name = str(self.code or self.reason or "")
        head = " ".join(filter(None, (status, name)))
        message = self.message[:MAX_MESSAGE]
        if message == self.reason:
            message = ""
        text = ": ".join(filter(None, (head, self.call, message)))
        hint = self.hint
        return f"{text}; {hint}" if hint else text


class BadRequestException(ApiException):
    """400: the API server cannot parse the request."""


class UnauthorizedException(ApiException):
    """401: the API server does not accept the credentials."""


class ForbiddenException(ApiException):
    """403: RBAC or the policy does not allow it."""


class MetadataOnlyError(ForbiddenException):
    """The script read a field of an object whose metadata alone is served."""

    def __init__(self, kind: str, rule: str) -> None:
        lacking = "values, key names or type" if kind == "Secret" else "content"
        several = kinds.pluralize(kind or "these object")
        message = f"{several} are served as metadata (rule {rule}), without {lacking}; read .metadata"
        super().__init__(403, "Forbidden", message=message, code="policy.metadata_only")
        self._tells_all = True


class NotFoundException(ApiException):
    """404: no such object, or no such kind of object."""


class ConflictException(ApiException):
    """409: the object exists already, or it changed since it was read."""


class UnprocessableEntityException(ApiException):
    """422: the object is invalid."""


class ServiceException(ApiException):
    """5xx: the API server, or something behind it, is in trouble."""


_DENIALS: Final = ("policy.", "writes.", "plan.")
"""Prefixes of codes: denials by the policy, and writes that cannot be planned."""
_TOLD_WHOLE: Final = (*_DENIALS, "request.", "runbook.")
"""Prefixes of the codes of refusals, whose messages name the call."""
_BY_STATUS: Final[dict[int, type[ApiException]]] = {
    400: BadRequestException,
    401: UnauthorizedException,
    403: ForbiddenException,
    404: NotFoundException,
    409: ConflictException,
    422: UnprocessableEntityException,
}


def class_for(status: int) -> type[ApiException]:
    """Returns the exception's class for an HTTP status."""
    if 500 <= status <= 599:
        return ServiceException
    return _BY_STATUS.get(status, ApiException)


def from_fault(fault: ScriptFault, status: int, call: str) -> Exception:
    """Returns the exception for a call that kubescript itself refused or could not make."""
    if fault.code.startswith("limit."):
        return LimitExceeded(fault.message, fault.code)
    shown = status
    # A script sees a policy denial as 403; 0 means that no API server refused the call.
    if status < 400:
        shown = 403 if fault.code.startswith(_DENIALS) else 0
    reason = phrase(shown) or fault.code
    body = _status(shown, reason, fault) if shown else None
    refused = fault.code.startswith(_TOLD_WHOLE)
    error_class = class_for(shown)
    title = "" if refused else call
    error = error_class(shown, reason, body=body, message=fault.message, code=fault.code, call=title)
    error._tells_all = refused
    return error


def _status(code: int, reason: str, fault: ScriptFault) -> str:
    """Returns kubescript's refusal as a Status object, such as an API server would send."""
    # Scripts read `json.loads(error.body)["message"]`.
    refusal = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": fault.message,
        "reason": reason,
        "code": code,
    }
    return msgspec.json.encode(refusal).decode()


_NOT_SERVED: Final = frozenset({"404 page not found", "the server could not find the requested resource"})
"""What API servers say of a path that they do not serve: in plain text, and as a Status within a group that they
serve."""


def from_answer(status: int, reason: str, body: bytes, headers: Mapping[str, str], call: str) -> ApiException:
    """Returns the exception for an API server's answer of 400 and above."""
    text = masks.note(body.decode("utf-8", "replace"))
    message = _message(text)
    if status == 404 and message in _NOT_SERVED:
        message = "the cluster serves no such kind; k8s.search('words') or k8s.discovery().api_resources() finds it"
    error_class = class_for(status)
    reason = reason or phrase(status)
    error = error_class(status, reason, body=text, message=message, headers=headers, call=call)
    if hint := _hint(status, message):
        error._advice = lambda: hint
    return error


def _hint(status: int, message: str) -> str:
    """Returns what to do about an API server's refusal; an empty string if the message is enough."""
    if status == 400 and "field label not supported" in message:
        return "filter in the script: [x for x in … if …]"
    if status == 409 and message.startswith("Apply failed with "):
        return "k8s.apply(..., force=True) takes these fields over"
    if status != 403:
        return ""
    # The wording is RBAC's. Denials of the policy come from `from_fault`.
    refused = _REFUSED.search(message)
    if refused:
        # With impersonation, and with a caller's own token, this is the caller and not the server's account.
        who = refused["user"] or "this user"
        what = f"{refused['verb']} {refused['resource']}"
        return f"RBAC says so, not this server's policy: the cluster's administrator can let {who} `{what}`"
    if "cannot" in message:
        return "RBAC says so, not this server's policy"
    return ""


def _message(text: str) -> str:
    """Returns the message of a Status object, and any other text unchanged."""
    try:
        status: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text.strip()
    message = status.get("message") if isinstance(status, dict) else None
    if isinstance(message, str):
        return message
    return text.strip()


def phrase(status: int) -> str:
    """Returns the usual words for an HTTP status; empty if there are none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        # A proxy may send any number.
        return ""
