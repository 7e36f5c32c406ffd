"""A question to the person at a client about a plan: the call to which the question belongs, and its state.

Since 2026-07-28 a call ends with its question, and the client sends it again with the answer and the question's state.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio
import mcp_types
import msgspec
from mcp.server import request_state
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from kubescript import errors, types
from kubescript.changes.store import record
from kubescript.transports import retained, scope_keys

__all__ = [
    "Call", "State", "end_call", "read_response", "read_state", "state_guard", "wait_for_response",
]  # fmt: skip

log = logging.getLogger(__name__)

_NAME: Final = "approval"
_MODERN: Final = "2026-07-28"
# This is as long as the longest plan is valid; most plans expire earlier.
_STATE_S: Final = 86_400.0
"""For how many seconds a question's state is valid."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, by the client that sent it."""

    ctx: ServerRequestContext[Any, Any]
    params: mcp_types.CallToolRequestParams
    caller: types.Caller
    on_progress: types.OnProgress | None

    @property
    def ends_with_question(self) -> bool:
        """Whether the call's client asks the person on its own, and sends the call again with the answer."""
        return self.ctx.protocol_version >= _MODERN

    @property
    def budget(self) -> retained.Budget | None:
        """The budget of the caller's bytes; None over stdio."""
        request = self.ctx.request
        if request is None:
            return None
        part: retained.Part | None = request.scope.get(scope_keys.PART)
        if part is None:
            return None
        return part.budget

    @property
    def digest(self) -> str:
        """Identifies the call by its tool and arguments."""
        arguments = self.params.arguments or {}
        text = json.dumps([self.params.name, arguments], sort_keys=True)
        # A client's text may contain lone surrogates, which strict UTF-8 rejects.
        content = text.encode("utf-8", "surrogatepass")
        return hashlib.sha256(content).hexdigest()


class State(msgspec.Struct, frozen=True):
    """The state of a question that ended a call. It returns with the answer."""

    plan: str
    session: str
    """The call's session, which over HTTP may last for that call alone."""
    call: str
    """The digest of the call."""
    is_link: bool

    def check(self, call: Call, found: record.Record) -> types.Caller:
        """Returns the caller, with the session that was asked. Raises PlanError if the answer comes with a different
        call."""
        is_author = found.plan.author.session == self.session
        # A caller that does not last has a different session in each call.
        is_same_session = call.caller.session == self.session or not call.caller.lasts
        is_same_call = self.call == call.digest
        # Attack: another session, or another script, sends this one's state.
        if not (is_author and is_same_session and is_same_call):
            raise errors.PlanError("this approval belongs to another call", code="plan.session")
        return replace(call.caller, session=self.session)


# The decoder is made before any threads start: two threads that decode into a type simultaneously for the first time
# can crash msgspec 0.22.
_STATE: Final = msgspec.json.Decoder(State)


def state_guard(name: str) -> request_state.RequestStateBoundary:
    """Returns the middleware that seals a question's state, so that no client can forge one."""
    security = request_state.RequestStateSecurity.ephemeral(ttl=_STATE_S)
    return request_state.RequestStateBoundary(security, default_audience=name)


def end_call(
    call: Call, plan_id: str, params: mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams
) -> mcp_types.InputRequiredResult:
    """Returns the end of a call whose client asks on its own, and sends the call again."""
    is_link = isinstance(params, mcp_types.ElicitRequestURLParams)
    state = State(plan_id, call.caller.session, call.digest, is_link)
    asked = mcp_types.ElicitRequest(params=params)
    return mcp_types.InputRequiredResult(
        input_requests={_NAME: asked},
        request_state=msgspec.json.encode(state).decode(),
    )


def read_state(call: Call) -> State:
    """Returns the state that a repeated call carries."""
    # No client can forge one: see `state_guard`.
    return _STATE.decode(call.params.request_state or "")


def read_response(call: Call) -> mcp_types.ElicitResult:
    """Returns the decision that a repeated call carries. Raises PlanError if there is none."""
    responses = call.params.input_responses or {}
    response = responses.get(_NAME)
    if not isinstance(response, mcp_types.ElicitResult):
        raise errors.PlanError("the client sent no decision", code="plan.nobody")
    return response


async def wait_for_response(asking: Awaitable[mcp_types.ElicitResult], seconds: float) -> mcp_types.ElicitResult:
    """Waits for the person. A timeout, or a client that cannot ask, counts as a refusal."""
    try:
        with anyio.fail_after(seconds):
            return await asking
    except TimeoutError:
        pass
    except MCPError as error:
        log.warning("the client did not ask: %s", error)
    except ValueError:
        # The SDK's own check rejects the answer. The error's text quotes the client's answer, so it is not logged.
        log.warning("the client's answer is not one of the protocol")
    return mcp_types.ElicitResult(action="cancel")
