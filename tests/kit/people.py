"""People who are asked whether a plan may be applied: at an MCP client, at a terminal, and in a browser."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import anyio.to_thread
import mcp.client as mcp
import mcp_types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait

from kubescript import app
from kubescript.changes import plan, planning
from kubescript.changes.store import record
from tests.kit import callers, clients, terminals

Question = mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams


@dataclass
class Client:
    """A person at an MCP client."""

    decision: str = "approve"
    meanwhile: Callable[[Question], None] = lambda _question: None
    """What happens while the question is on the screen; where the question is a link, whoever opens it."""
    questions: list[Question] = field(default_factory=list)
    """What the person was asked."""

    async def __call__(self, context: Any, params: Question) -> mcp_types.ElicitResult:
        """Answers a question."""
        self.questions.append(params)
        await anyio.to_thread.run_sync(self.meanwhile, params)
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            return mcp_types.ElicitResult(action="accept")
        return mcp_types.ElicitResult(action="accept", content={"decision": self.decision, "reason": "as agreed"})


def at_terminal(
    plan: str, flags: Sequence[str], environment: Mapping[str, str], decision: str = "approve"
) -> tuple[int, str]:
    """Runs `kubescript approve`, and answers what it asks; returns its exit code and all that was on the screen."""
    return typed(["approve", plan, *flags], environment, decision)


def typed(
    command: Sequence[str],
    environment: Mapping[str, str],
    decision: str = "approve",
    program: str | None = None,
) -> tuple[int, str]:
    """Runs a command at a terminal, and answers what it asks about a plan; returns the same."""
    screen = terminals.Screen(command, environment, program=program)
    if screen.shows("Type `approve` or `yes` "):
        screen.type(decision)
        screen.until(r"Reason \((may be empty|needed)\): ")
        screen.type("as agreed")
    return screen.end(), screen.text


def link(plan: str, flags: Sequence[str], environment: Mapping[str, str]) -> str:
    """A one-time link to the page of a plan, as `kubescript plans link` prints it at a terminal."""
    screen = terminals.Screen(["plans", "link", plan, *flags], environment)
    code = screen.end()
    found = re.search(r"http://\S+", screen.text)
    assert code == 0 and found, screen.text
    return found[0]


def in_browser(window: webdriver.Chrome, address: str, decision: str = "approve") -> str:
    """Opens the page of a plan, and decides; returns all that was on it before."""
    window.get(address)
    shown = text(window)
    press(window, decision)
    return shown


def press(window: webdriver.Chrome, decision: str) -> None:
    """Presses a button of the page that is open, and waits for the next one."""
    button = window.find_element(By.CSS_SELECTOR, f"button[value={decision}]")
    button.send_keys(Keys.ENTER)
    # In the middle of a navigation ChromeDriver says "unknown error" of the old page's button before it says "stale".
    waiting = WebDriverWait(window, 60, ignored_exceptions=[WebDriverException])
    waiting.until(expected_conditions.staleness_of(button))


def see(window: webdriver.Chrome, *headings: str) -> str:
    """Waits until the page has one of these headings; returns all that is on it."""

    def has(_window: webdriver.Chrome) -> bool:
        return window.find_element(By.TAG_NAME, "h1").text in headings

    WebDriverWait(window, 120, ignored_exceptions=[Exception]).until(has)
    return text(window)


def text(window: webdriver.Chrome) -> str:
    """All that is on the page."""
    return window.find_element(By.TAG_NAME, "body").text


class Talk:
    """A conversation of an MCP client with a server."""

    def __init__(self, portal: BlockingPortal, client: mcp.Client) -> None:
        self._portal = portal
        self._client = client

    def ask(self, script: str) -> mcp_types.CallToolResult:
        """The answer to a script, after whatever the person was asked."""
        return self._portal.call(clients.evaluate, self._client, script)

    def plan(self, script: str) -> str:
        """The plan of a script about which the client can ask nobody."""
        return plan_in(self.ask(script))

    def begin(self, script: str) -> mcp_types.InputRequiredResult:
        """The question at which a call ends in the era of 2026-07-28."""
        answer = self._portal.call(self._call, script, None, None)
        assert isinstance(answer, mcp_types.InputRequiredResult), answer
        return answer

    def resume(
        self, script: str, question: mcp_types.InputRequiredResult, decision: str = "approve"
    ) -> mcp_types.CallToolResult:
        """The answer to the call that comes again with the person's decision."""
        content: dict[str, str | int | float | bool | list[str] | None] = {"decision": decision}
        given = mcp_types.ElicitResult(action="accept", content=content)
        answer = self._portal.call(self._call, script, {"approval": given}, question.request_state)
        assert isinstance(answer, mcp_types.CallToolResult), answer
        return answer

    async def _call(
        self, script: str, responses: dict[str, Any] | None, state: str | None
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        return await self._client.session.call_tool(
            "evaluate_script",
            {"script": script},
            input_responses=responses,
            request_state=state,
            allow_input_required=True,
        )


class Server:
    """A server in this process, with the page of its plans."""

    def __init__(self, application: app.Application) -> None:
        assert application.operator.planning is not None
        self._app = application
        self._planning: planning.Planning = application.operator.planning

    def talk(
        self, person: Client | None = None, mode: str = "legacy", name: str = "mcp"
    ) -> contextlib.AbstractContextManager[Talk]:
        """A conversation with a client of its own, of this name; without a person, it can ask nobody."""
        return _opened(clients.joined(self._app, mode, person, name))

    def kept(self, plan_id: str) -> record.Record:
        """A plan, and what became of it."""
        return self._planning.approvals.get(plan_id)

    def newest(self) -> record.Record:
        """The plan that was made last."""
        return self._planning.approvals.newest(1)[0]

    def approve(self, shown: plan.Plan, approver: str) -> None:
        """Has somebody else approve a plan."""
        self._planning.store().decide(shown.id, record.Decision(approver, "terminal", approves=True, hash=shown.hash))

    @property
    def url(self) -> str:
        """Where the page is served."""
        return "/".join(self._page.split("/")[:3])

    def link(self, of: plan.Plan) -> str:
        """A new one-time link to a plan's page."""
        return self._planning.link(self.kept(of.id))

    def address(self, of: plan.Plan) -> str:
        """Where the page of a plan is, for whom it is open."""
        return f"{self._page}/plans/{of.id}"

    @property
    def _page(self) -> str:
        assert self._planning.has_page() and self._planning._page is not None
        return self._planning._page.address


@contextlib.contextmanager
def server(flags: Sequence[str], environment: Mapping[str, str]) -> Iterator[Server]:
    """A server in this process."""
    with mock.patch.dict(os.environ, environment), clients.application(("--toolsets", "code", *flags)) as opened:
        yield Server(opened)


@contextlib.contextmanager
def talk(
    flags: Sequence[str],
    environment: Mapping[str, str],
    person: Client | None = None,
    mode: str = "legacy",
    transport: str = "memory",
) -> Iterator[Talk]:
    """A conversation with a server of its own; without a person, the client can ask nobody."""
    with _opened(clients.connect(transport, flags, mode, person, environment)) as opened:
        yield opened


@contextlib.contextmanager
def _opened(connecting: contextlib.AbstractAsyncContextManager[mcp.Client]) -> Iterator[Talk]:
    opened = contextlib.ExitStack()
    portal = opened.enter_context(start_blocking_portal())
    client = opened.enter_context(portal.wrap_async_context_manager(connecting))
    try:
        yield Talk(portal, client)
    finally:
        opened.close()  # what fails in a test is no business of the client's tasks


@contextlib.contextmanager
def joined(port: int, mode: str = "legacy", person: Client | None = None, token: str = "") -> Iterator[Talk]:
    """A conversation with a server that is shared, over HTTP."""
    if token:
        with _opened(callers.connected(port, token, mode=mode, elicitation_callback=person)) as opened:
            yield opened
        return
    with _opened(mcp.Client(f"http://127.0.0.1:{port}/mcp", mode=mode, elicitation_callback=person)) as opened:
        yield opened


def plan_in(answer: mcp_types.CallToolResult) -> str:
    """The plan that an answer names."""
    return plan_on(clients.whole(answer))


def plan_on(screen: str) -> str:
    """The first plan that a text names."""
    found = re.search(r"(?:[Pp]lan|approve) (p-[0-9a-f]{32})", screen)
    assert found, screen
    return found[1]


def flags(folder: Path, kubeconfig: Path, settings: str = "") -> list[str]:
    """The flags of a server that plans, and of the commands about its plans; `settings` are added to its file."""
    file = folder / "kubescript.toml"
    file.write_text(f'writes = "plan"\nkubeconfig = "{kubeconfig}"\nlog_level = "warning"\n{settings}')
    return ["--config", str(file)]


def environment(folder: Path) -> dict[str, str]:
    """Where a server keeps its plans, and says where its page is."""
    return {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": clients.CACHE}
