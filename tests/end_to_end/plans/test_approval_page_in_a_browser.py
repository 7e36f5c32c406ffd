"""The page for approvals as a person uses it: in Chromium, by keyboard, in the light and in the dark, on a telephone."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.wire import inspection
from tests.kit import approval_page, browser

LONG: Final = approval_page.step(
    "web-" + "x" * 240,
    rows=(
        inspection.Row("metadata.annotations[" + "y" * 300 + "]", '"' + "z" * 3000 + '"', '"' + "Z" * 3000 + '"'),
        inspection.Row("spec.short", '"' + "q" * 150 + '"', None),
    ),
    namespace="n" * 63,
    warnings=("w" * 500,),
    findings=(plan.Finding("writes." + "r" * 200, "critical", "m" * 500),),
)


@pytest.fixture(scope="module")
def window() -> Iterator[webdriver.Chrome]:
    with browser.opened() as driver:
        yield driver


@pytest.fixture(autouse=True)
def _usual(window: webdriver.Chrome) -> None:
    browser.emulate(window)


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[approval_page.Served]:
    with approval_page.served(tmp_path_factory.mktemp("page")) as serving:
        yield serving


@pytest.fixture
def served(served_once: approval_page.Served) -> approval_page.Served:
    """The page with a store of its own, which has plans of other tests too."""
    served_once.approved.clear()
    return served_once


def script(window: webdriver.Chrome, source: str, *arguments: Any) -> Any:
    """What a script of the test returns."""
    return window.execute_script(source, *arguments)


def press(window: webdriver.Chrome, *keys: str) -> None:
    """Presses keys, wherever the focus is."""
    webdriver.ActionChains(window).send_keys(*keys).perform()


def tab_to(window: webdriver.Chrome, wanted: str) -> WebElement:
    """Presses Tab until the focus is on what the selector names."""
    for _ in range(100):
        press(window, Keys.TAB)
        focused = window.switch_to.active_element
        if script(window, "return arguments[0].matches(arguments[1])", focused, wanted):
            return focused
    raise AssertionError(f"Tab does not reach {wanted}")


def title(window: webdriver.Chrome) -> str:
    """The page's heading."""
    return window.find_element(By.TAG_NAME, "h1").text


def wait_for(window: webdriver.Chrome, heading: str) -> None:
    """Waits until the page has this heading."""
    WebDriverWait(window, 60, ignored_exceptions=[Exception]).until(lambda _: title(window) == heading)


def test_a_person_reads_and_approves_with_the_keyboard(window: webdriver.Chrome, served: approval_page.Served) -> None:
    made = served.add(approval_page.release()[0])
    window.get(served.link(made))
    assert window.current_url == served.address(made)
    assert title(window) == "Waits for a decision"
    row = window.find_element(By.CSS_SELECTOR, "#change-1 .rows li").text.split("\n")
    assert [word for word in row if not word.startswith(("old", "new"))] == ["spec.replicas", "−", "3", "+", "6"]
    # A key pressed too early decides nothing.
    assert script(window, "return document.activeElement.tagName") == "BODY"
    press(window, Keys.ENTER, Keys.SPACE)
    assert served.plans.get(made.id).state == "pending"
    tab_to(window, "button[value=decline]")
    approve = tab_to(window, "button")
    assert approve.text == "Approve 1 change (1 field)"
    press(window, Keys.ENTER)
    wait_for(window, "Approved, and about to be applied")
    assert served.approved == [made.id]


def test_a_person_declines_with_a_reason(window: webdriver.Chrome, served: approval_page.Served) -> None:
    made = served.add(*approval_page.release())
    window.get(served.link(made))
    tab_to(window, "textarea")
    press(window, "not on a Friday")
    tab_to(window, "button[value=decline]")
    press(window, Keys.ENTER)
    wait_for(window, "Declined: nothing was changed")
    assert served.plans.get(made.id).decisions[0].reason == "not on a Friday"
    assert "not on a Friday" in window.find_element(By.ID, "main").text


def test_a_person_overrides_a_critical_finding(window: webdriver.Chrome, served: approval_page.Served) -> None:
    made = served.add(*approval_page.release())
    window.get(served.link(made))
    tab_to(window, "button[value=approve]")
    press(window, Keys.ENTER)
    wait = WebDriverWait(window, 60)
    alert = wait.until(lambda driver: driver.find_element(By.CSS_SELECTOR, "[role=alert]"))
    assert "1 critical finding not overridden" in alert.text
    assert window.switch_to.active_element == alert
    tab_to(window, "input[type=checkbox]")
    press(window, Keys.SPACE)
    tab_to(window, "textarea")
    press(window, "it is our registry")
    tab_to(window, "button[value=approve]")
    press(window, Keys.ENTER)
    wait_for(window, "Approved, and about to be applied")
    assert served.plans.get(made.id).decisions[0].overrides == ("writes.registry",)


def test_the_page_follows_a_plan_to_its_end(window: webdriver.Chrome, served: approval_page.Served) -> None:
    made = served.add(approval_page.release()[0])
    served.plans.decide(made.id, record.Decision("uid 1 (bob)", "terminal", True, made.hash))
    served.plans.claim(made.id, "tests", 600)
    window.get(served.link(made))
    assert title(window) == "Being applied"
    served.plans.mark(made.id, "tests", 0, record.Application("done", "a-1", "7", 200))
    served.plans.finish(made.id, "tests", "applied", "1 of 1 changes applied")
    wait_for(window, "Applied")


def test_a_link_on_another_site_opens_the_page(
    window: webdriver.Chrome, served: approval_page.Served, tmp_path: Path
) -> None:
    """A strict cookie is not sent with what another site asks for; a client in a browser is another site."""
    made = served.add(approval_page.release()[0])
    (tmp_path / "client.html").write_text(f'<a href="{served.link(made)}">approve</a>', "utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as client:
        threading.Thread(target=client.serve_forever, daemon=True).start()
        window.get(f"http://localhost:{client.server_port}/client.html")
        window.find_element(By.TAG_NAME, "a").click()
        wait_for(window, "Waits for a decision")
        client.shutdown()
    assert window.current_url == served.address(made)
    assert window.find_elements(By.CSS_SELECTOR, "button[value=approve]") != []


def test_the_key_is_not_in_the_browser_s_history(window: webdriver.Chrome, served: approval_page.Served) -> None:
    window.get(served.link(served.add(approval_page.release()[0])))
    entries = browser.command(window, "Page.getNavigationHistory")["entries"]
    assert entries[-1]["url"] == window.current_url
    assert [entry["url"] for entry in entries if "key=" in entry["url"] and served.url in entry["url"]] == []
    assert script(window, "return document.referrer") == ""


def test_the_page_asks_no_other_host_and_breaks_no_policy(
    window: webdriver.Chrome, served: approval_page.Served
) -> None:
    browser.logged(window, "performance")
    browser.logged(window, "browser")
    made = served.add(*approval_page.release())
    window.get(served.link(made))
    window.get(served.address(made) + "?open")
    messages = [json.loads(entry["message"])["message"] for entry in browser.logged(window, "performance")]
    asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    assert len(asked) >= 3
    assert [url for url in asked if not url.startswith((served.url + "/", "data:"))] == []
    assert [entry for entry in browser.logged(window, "browser") if "favicon" not in entry["message"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("steps", [approval_page.release(), (LONG,)], ids=["release", "long"])
def test_every_text_stands_out_and_nothing_scrolls_sideways(
    window: webdriver.Chrome, served: approval_page.Served, scheme: str, steps: tuple[plan.Step, ...]
) -> None:
    made = served.add(*steps)
    window.get(served.link(made))
    for width in (1280, 360):
        browser.emulate(window, scheme, width)
        window.get(served.address(made) + "?open")
        contrasts = script(window, browser.CONTRASTS)
        assert len(contrasts) > 25
        faint = [(where, ratio) for where, ratio in contrasts if ratio < 4.5]
        assert faint == []
        assert script(window, "return document.documentElement.scrollWidth") <= width
        wide = "return [...document.querySelectorAll('main *:not(.unseen)')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
        assert script(window, wide) == []


def test_light_and_dark_are_what_the_person_likes(window: webdriver.Chrome, served: approval_page.Served) -> None:
    window.get(served.link(served.add(approval_page.release()[0])))
    grounds = []
    for scheme in ("light", "dark"):
        browser.emulate(window, scheme)
        grounds.append(script(window, "return getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


def test_the_pages_are_accessible(window: webdriver.Chrome, served: approval_page.Served) -> None:
    """Names, labels, landmarks and headings; and nothing but text, links and one form."""
    made = served.add(*approval_page.release())
    link = served.link(made)
    window.get(link)
    assert script(window, browser.FAULTS) == []
    window.get(f"{served.url}{served.keys.path}/plans")
    assert script(window, browser.FAULTS) == []
    window.get(f"{served.url}{served.keys.path}/plans/p-none")
    assert script(window, browser.FAULTS) == []
    window.delete_all_cookies()
    window.get(link)
    assert (
        title(window) == "This link has been opened before. A link opens once." or "opened before" in window.page_source
    )
    assert script(window, browser.FAULTS) == []


def test_the_focus_is_seen(window: webdriver.Chrome, served: approval_page.Served) -> None:
    window.get(served.link(served.add(*approval_page.release())))
    reached = set()
    for _ in range(60):
        press(window, Keys.TAB)
        focused = window.switch_to.active_element
        if focused.tag_name == "body":
            break
        outline = script(
            window,
            "const s = getComputedStyle(arguments[0]); return [s.outlineStyle, parseFloat(s.outlineWidth)]",
            focused,
        )
        assert outline == ["solid", 3]
        reached.add(focused.tag_name)
    assert reached == {"a", "button", "input", "summary", "textarea"}


def test_additions_and_removals_are_told_without_colour(window: webdriver.Chrome, served: approval_page.Served) -> None:
    window.get(served.link(served.add(*approval_page.release())))
    for selector, sign in (("del.old", "−"), ("ins.new", "+")):
        signs = {
            element.find_element(By.CLASS_NAME, "sign").text
            for element in window.find_elements(By.CSS_SELECTOR, selector)
            if element.is_displayed()
        }
        assert signs == {sign}
