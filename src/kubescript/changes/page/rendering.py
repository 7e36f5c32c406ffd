"""The HTML of the pages, and their style sheet. The pages need no JavaScript.

`page` uses it for the person of one machine, `team` for the callers of a server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib import parse

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from kubescript.changes.page import deciding
from kubescript.changes.store import record
from kubescript.changes.view import view

__all__ = ["NEWEST", "Pages", "style"]

_HERE: Final = Path(__file__).parent
_STYLE: Final = _HERE.joinpath("style.css").read_text("utf-8")
_templates: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
NEWEST: Final = 50
"""How many plans the overview page lists."""
_REFRESH_S: Final = 2


class Pages:
    """The pages below one path of a server."""

    def __init__(self, base: str) -> None:
        """`base` is the path below which browsers find the pages."""
        self.base = base

    def render(self, name: str, status: int = 200, **values: Any) -> Response:
        """Returns a page from a template."""
        template = _templates.get_template(name)
        content = template.render({"base": self.base, "user": "", "words": "", **values})
        return HTMLResponse(content, status)

    def tell(self, status: int, title: str, text: str, **values: Any) -> Response:
        """Returns a page that says one thing."""
        return self.render("message.html", status, title=title, text=text, **values)

    def pass_on(self, path: str, title: str) -> Response:
        """Returns a page from which the browser goes on to a path of this server by itself."""
        # A browser that comes from another site sends a strict cookie only with requests from our own pages. So one of
        # these makes the request.
        return self.render("message.html", refresh=0, title=title, text="", onward=path)

    def redirect(self, plan_id: str = "") -> Response:
        """Sends the browser on to a plan's page, or to the overview."""
        quoted = parse.quote(plan_id, safe="")
        end = f"/{quoted}" if plan_id else ""
        # With 303, the browser fetches the page, so that a reload does not send a form again.
        return RedirectResponse(f"{self.base}/plans{end}", status_code=303)

    def show(
        self,
        request: Request,
        entry: record.Record,
        token: str,
        *,
        otherwise: str,
        left: deciding.Left | None = None,
        **values: Any,
    ) -> Response:
        """Returns a plan's page. `token` is its form's; with an empty one there is no form, and `otherwise` says why.
        `left` is a decision that did not count."""
        shown = view.of(entry)
        state = shown.summary.state
        form = None
        if state == "pending" and token:
            form = {
                "token": token,
                "reason": left.reason if left is not None else "",
                "overrides": left.ticked if left is not None else frozenset(),
            }
        opens_all = "open" in request.query_params
        is_following = state in {"approved", "applying"} and "changes" not in request.query_params
        return self.render(
            "plan.html",
            left.status if left is not None else 200,
            view=shown,
            form=form,
            alert=left.complaint if left is not None else "",
            open_all=opens_all,
            has_closed=not opens_all and any(change.server_rows for change in shown.changes),
            following=is_following,
            refresh=_REFRESH_S if is_following else None,
            otherwise=otherwise,
            **values,
        )


def style(_request: Request) -> Response:
    """Returns the style sheet."""
    return Response(_STYLE, media_type="text/css")
