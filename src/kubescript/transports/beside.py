"""The page for approving plans, beside everything else on the same port. `serving` puts it in front of authentication,
since the page has its own."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from kubescript.transports import endpoints

__all__ = ["Beside"]


class Beside:
    """An application with the page beside it."""

    def __init__(self, app: ASGIApp, page: ASGIApp) -> None:
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        is_page = scope["type"] == "http" and endpoints.is_page(scope["path"])
        app = self._page if is_page else self._app
        await app(scope, receive, send)
