"""A question to the person at a client about a plan, and the call to which the question belongs.

Since 2026-07-28 a call ends with its question, and the client sends it again with the answer and the question's token.
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
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from kubescript import errors, types
from kubescript.changes.store import record
from kubescript.transports import retained, scope_keys

__all__ = ["Call", "check", "describe", "end_call", "read_response", "wait_for_response"]

log = logging.getLogger(__name__)

_NAME: Final = "approval"
_MODERN: Final = "2026-07-28"


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


def describe(call: Call, plan_id: str, principal: str, *, is_link: bool) -> record.Question:
    """Returns what the store keeps of a question that ends a call; `principal` is the caller."""
    return record.Question(plan_id, principal, call.caller.session, call.digest, is_link)


def check(asked: record.Question, call: Call, principal: str) -> types.Caller:
    """Returns the caller, with the session that was asked. Raises PlanError if the answer comes with a different call,
    or from a different caller."""
    # A caller that does not last has a different session in each call.
    is_same_session = call.caller.session == asked.session or not call.caller.lasts
    # Attack: another caller, session or script sends this one's state.
    if (asked.principal, asked.call) != (principal, call.digest) or not is_same_session:
        raise errors.PlanError("the question was another caller's, or another call's", code="plan.session")
    return replace(call.caller, session=asked.session)


def end_call(
    token: str, params: mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams
) -> mcp_types.InputRequiredResult:
    """Returns the end of a call whose client asks on its own, and sends the call again with the token."""
    asked = mcp_types.ElicitRequest(params=params)
    return mcp_types.InputRequiredResult(input_requests={_NAME: asked}, request_state=token)


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
