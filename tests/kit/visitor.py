"""Who opens the page for approvals without a browser: sends any request, and keeps what a browser would keep."""

from __future__ import annotations

import html.parser
import http.client
import http.cookies
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib import parse

from kubescript.changes import plan

FORM: Final = "application/x-www-form-urlencoded"


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    """Their names in lower case."""
    body: str
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        """Reads the page."""
        self.page = Page()
        self.page.feed(self.body)


class Page(html.parser.HTMLParser):
    """The elements, the form's fields and the text of a page, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """Notes text."""
        self.text += data

    def attributes(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all elements of one name."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def hidden_fields(self) -> dict[str, str]:
        """The fields of the form that nobody fills in."""
        return {field["name"]: field["value"] for field in self.attributes("input") if field.get("type") == "hidden"}

    @property
    def words(self) -> str:
        """The text with single blanks."""
        return " ".join(self.text.split())


class Served(Protocol):
    """A page that is served."""

    @property
    def url(self) -> str:
        """Where the server is found."""

    def link(self, of: plan.Plan) -> str:
        """A new one-time link to the plan."""

    def address(self, of: plan.Plan) -> str:
        """Where the plan's page is, for whom it is open."""


@dataclass
class Visitor:
    """Sends requests to a served page; its cookies come back with each of them."""

    served: Served
    cookies: dict[str, str] = field(default_factory=dict)
    source: str = ""
    """The address from which requests come; empty for the usual one."""

    def send(self, method: str, url: str, body: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Sends one request and follows nothing."""
        at = parse.urlsplit(self.served.url)
        path = url.removeprefix(self.served.url)
        connection = http.client.HTTPConnection(
            at.hostname or "", at.port, timeout=60, source_address=(self.source, 0) if self.source else None
        )
        given = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        try:
            connection.request(method, path, body, {**given, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                self.cookies |= {key: morsel.value for key, morsel in http.cookies.SimpleCookie(value).items()}
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def get(self, url: str) -> Answer:
        """Gets one page."""
        return self.send("GET", url)

    def open(self, of: plan.Plan) -> Answer:
        """Opens a plan with a new link, as a browser does."""
        onward = self.get(self.served.link(of))
        assert onward.status == 303, onward.body
        return self.get(onward.headers["location"])

    def post(
        self, of: plan.Plan, fields: Mapping[str, str | list[str]], headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Sends fields as the page's form does, with other headers if they are given."""
        own = {"Content-Type": FORM, "Origin": self.served.url}
        return self.send(
            "POST", self.served.address(of), parse.urlencode(fields, doseq=True), {**own, **(headers or {})}
        )

    def decide(self, of: plan.Plan, decision: str, **fields: str | list[str]) -> Answer:
        """Opens a plan, fills in its form and sends it."""
        return self.post(of, {**self.open(of).page.hidden_fields, "decision": decision, **fields})
