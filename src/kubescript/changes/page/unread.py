"""The bytes of a page's answers that people have not read, counted for each person."""

from __future__ import annotations

import weakref

from starlette.types import ASGIApp, Receive, Scope, Send

from kubescript import config
from kubescript.transports import answers, retained, scope_keys

__all__ = ["Answers", "Budgets"]


class Budgets:
    """The budgets of all people. Used by one event loop."""

    def __init__(self, limits: config.Http) -> None:
        self._most = retained.most(limits)
        self._budgets: weakref.WeakValueDictionary[str, retained.Budget] = weakref.WeakValueDictionary()
        """The budgets by person; a budget exists as long as one of its answers is not read."""

    def find(self, person: str) -> retained.Budget:
        """Returns a person's budget."""
        found = self._budgets.get(person)
        if found is None:
            found = self._budgets[person] = retained.Budget(self._most)
        return found


class Answers:
    """An application whose answers count in a budget once `scope_keys.ANSWER` of a request has one."""

    def __init__(self, application: ASGIApp) -> None:
        self._app = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        answer = answers.Answer(send, scope[scope_keys.CONNECTION])
        scope[scope_keys.ANSWER] = answer
        await self._app(scope, receive, answer.send)
