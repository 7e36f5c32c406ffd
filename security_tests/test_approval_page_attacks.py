"""Attacks on the page on which a person approves plans: by other sites, by other users, and by the plan itself."""

from __future__ import annotations

import functools
import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from kubescript.changes import plan
from kubescript.changes.page import access
from kubescript.changes.store import record
from kubescript.changes.view import characters, plain, view
from kubescript.wire import inspection
from tests.kit import approval_page, browser, extent
from tests.kit.visitor import Answer, Visitor


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[approval_page.Served]:
    with approval_page.served(tmp_path_factory.mktemp("page")) as serving:
        yield serving


@pytest.fixture
def served(served_once: approval_page.Served) -> approval_page.Served:
    """The page with a store of its own, which has plans of other tests too."""
    served_once.approved.clear()
    return served_once


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    """A browser, started once."""
    with browser.opened() as opened:
        yield opened


@pytest.fixture
def window(chromium: webdriver.Chrome) -> webdriver.Chrome:
    """A window of a browser that has seen nothing."""
    browser.command(chromium, "Network.clearBrowserCookies")
    chromium.get("about:blank")
    browser.logged(chromium, "browser")
    return chromium


@pytest.fixture
def victim(served: approval_page.Served) -> Visitor:
    """A person's browser."""
    return Visitor(served)


def scaled(served: approval_page.Served) -> plan.Plan:
    """A plan without findings."""
    return served.add(approval_page.release()[0])


def undecided(served: approval_page.Served, made: plan.Plan) -> bool:
    """Whether the attack has come to nothing."""
    found = served.plans.get(made.id)
    return found.state == "pending" and found.decisions == () and served.approved == []


OTHER_SITES: Final[dict[str, dict[str, str]]] = {
    "another site": {"Origin": "https://evil.example"},
    "a sandboxed frame": {"Origin": "null"},
    "another port of this machine": {"Origin": "http://127.0.0.1:1"},
    "another name of this machine": {"Origin": "http://localhost"},
    "no origin": {"Origin": ""},
    "https": {"Origin": "https://127.0.0.1"},
    "a cross-site form": {"Sec-Fetch-Site": "cross-site"},
    "a form of another port": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.promise("V-01")
@pytest.mark.parametrize("headers", OTHER_SITES.values(), ids=OTHER_SITES)
def test_a_form_of_another_site_decides_nothing(
    served: approval_page.Served, victim: Visitor, headers: dict[str, str]
) -> None:
    """Cookie and token are right, as if both had leaked, and still the form does not count."""
    made = scaled(served)
    fields = {**victim.open(made).page.hidden_fields, "decision": "approve"}
    assert victim.post(made, fields, headers).status == 403
    assert undecided(served, made)
    assert victim.post(made, fields).status == 303


@pytest.mark.promise("V-01", "V-02")
def test_a_forged_form_decides_nothing(served: approval_page.Served, victim: Visitor) -> None:
    """Without the cookie, or with a token that is not of this session, this plan and this hash."""
    made, other = scaled(served), scaled(served)
    stranger = Visitor(served)
    form = {**victim.open(made).page.hidden_fields, "decision": "approve"}
    wrong = [
        form | {"token": ""},
        form | {"token": "0" * 32},
        form | {"token": form["token"][:-1]},
        form | {"token": "\N{SNOWMAN}\x00"},
        form | {"token": victim.open(other).page.hidden_fields["token"]},
        form | {"token": stranger.open(made).page.hidden_fields["token"]},
        form | {"hash": other.hash},
        form | {"hash": ""},
        form | {"decision": "Approve"},
        {"decision": "approve"},
    ]
    assert [victim.post(made, fields).status for fields in wrong] == [403] * len(wrong)
    assert Visitor(served).post(made, form).status == 403
    assert stranger.post(made, form).status == 403
    assert undecided(served, made) and undecided(served, other)
    assert victim.post(made, form).status == 303


@pytest.mark.promise("V-01")
def test_a_get_decides_nothing(served: approval_page.Served, victim: Visitor) -> None:
    """What an image of another site or a link can ask for has no effect, and other methods do not exist."""
    made = scaled(served)
    form = victim.open(made).page.hidden_fields
    query = f"?token={form['token']}&hash={form['hash']}&decision=approve"
    assert victim.get(served.address(made) + query).status == 200
    assert [victim.send(method, served.address(made)).status for method in ("PUT", "DELETE", "OPTIONS")] == [405] * 3
    assert undecided(served, made)


HOSTS: Final = ("evil.example", "127.0.0.1.evil.example", "127.0.0.1:x@evil.example", "10.0.0.1", "", "evil.example:80")


@pytest.mark.promise("V-01")
@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_was_rebound_to_this_machine_reaches_nothing(
    served: approval_page.Served, victim: Visitor, host: str
) -> None:
    """A page under its own name, which now leads to 127.0.0.1, is refused whatever it knows."""
    made = scaled(served)
    fields = {**victim.open(made).page.hidden_fields, "decision": "approve"}
    assert victim.send("GET", served.address(made), headers={"Host": host}).status in {400, 421}
    assert victim.post(made, fields, {"Host": host, "Origin": f"http://{host}"}).status in {400, 421}
    assert undecided(served, made)


FRAME: Final = """<!doctype html><title>win a prize</title><iframe id="it" src="{}" width="600" height="600"></iframe>
<iframe id="sandboxed" sandbox="allow-forms" src="{}"></iframe><object data="{}"></object>
<form id="forged" method="post" action="{}"><input name="decision" value="approve"></form>
<script>window.stolen = fetch("{}", {{credentials: "include", mode: "no-cors"}}).then(r => r.text(), e => "refused");</script>"""


@pytest.mark.promise("V-01")
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_page_of_another_site_cannot_show_read_or_send_it(
    window: webdriver.Chrome, served: approval_page.Served, tmp_path: Path, name: str
) -> None:
    """In a browser that has the cookie; also from another port of the same address, which counts as the same site."""
    made = scaled(served)
    address = served.address(made)
    (tmp_path / "evil.html").write_text(FRAME.format(*[address] * 5), "utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        window.get(served.link(made))
        assert window.find_element(By.TAG_NAME, "h1").text == "Waits for a decision"
        window.get(f"http://{name}:{evil.server_port}/evil.html")
        for frame in ("it", "sandboxed"):
            window.switch_to.frame(window.find_element(By.ID, frame))
            assert "Waits for a decision" not in window.page_source
            window.switch_to.default_content()
        stolen: Any = window.execute_async_script("window.stolen.then(arguments[0])")
        assert "replicas" not in stolen and "token" not in stolen
        window.find_element(By.ID, "forged").submit()
        assert "Waits for a decision" not in window.page_source
        evil.shutdown()
    assert undecided(served, made)


@pytest.mark.promise("V-01")
def test_another_server_of_this_machine_gets_no_cookie(window: webdriver.Chrome, served: approval_page.Served) -> None:
    """A browser sends cookies to every port of a host; ours belong to a path that no other server knows."""
    received: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(self.headers.get("Cookie", ""))
            self.send_response(204)
            self.end_headers()

    made = scaled(served)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        window.get(served.link(made))
        for path in ("/", "/plans", f"/plans/{made.id}", f"/x/plans/{made.id}"):
            window.get(f"http://127.0.0.1:{other.server_port}{path}")
        other.shutdown()
    assert len(received) >= 4 and set(received) == {""}


@pytest.mark.promise("V-02")
def test_a_link_opens_once_and_for_one_plan(served: approval_page.Served, victim: Visitor) -> None:
    """Neither a second browser, nor another plan, nor another server takes a key."""
    made, other = scaled(served), scaled(served)
    link = served.link(made)
    elsewhere = access.Link(served.url, access.Access().secret).to(made.id, made.expires)
    assert Visitor(served).get(link.replace(made.id, other.id)).status == 403
    assert Visitor(served).get(elsewhere.replace(elsewhere.split("/")[3], served.keys.path[1:])).status == 403
    assert victim.get(link).status == 303
    second = Visitor(served)
    assert second.get(link).status == 403
    assert second.cookies == {}
    assert second.get(served.address(made)).status == 403


@pytest.mark.promise("V-02")
def test_what_only_looks_at_a_link_does_not_spend_it(served: approval_page.Served, victim: Visitor) -> None:
    """A browser that fetches ahead, and a program that checks links, leave it to the person."""
    link = served.link(scaled(served))
    assert Visitor(served).send("HEAD", link).status == 503
    assert Visitor(served).send("GET", link, headers={"Sec-Purpose": "prefetch;prerender"}).status == 503
    assert victim.get(link).status == 303


KEYS: Final = ("", "x", "..", "a.b.c", "0.9999999999." + "0" * 32, "\x00.1.\x00", "%ff", "é.9999999999.é", "a" * 5_000)


@pytest.mark.promise("V-02")
@pytest.mark.parametrize("key", KEYS, ids=[key[:20].encode("unicode_escape").decode() for key in KEYS])
def test_a_guessed_key_opens_nothing(served: approval_page.Served, victim: Visitor, key: str) -> None:
    """Whatever a key looks like, it is refused in words, and the true one still opens the plan."""
    made = scaled(served)
    answer = victim.get(served.address(made) + "?key=" + ("".join(f"%{byte:02x}" for byte in key.encode())))
    assert answer.status in {400, 403}
    assert victim.cookies == {}
    assert victim.open(made).status == 200


@pytest.mark.promise("V-02")
def test_a_key_cannot_be_changed(served: approval_page.Served, victim: Visitor) -> None:
    """A longer life, another nonce, or a part of the code are another key."""
    made = scaled(served)
    link = served.link(made)
    nonce, until, code = link.partition("key=")[2].split(".")
    changed = [
        f"{nonce}.{int(until) + 9}.{code}",
        f"{nonce[:-1]}.{until}.{code}",
        f"{nonce}.{until}.{code[:-1]}",
        f"{nonce}.{until}.{code}0",
        f"{nonce}.{until}.{code.upper()}",
    ]
    assert [victim.get(served.address(made) + "?key=" + key).status for key in changed] == [403] * len(changed)
    assert victim.get(link).status == 303


@pytest.mark.promise("V-02")
def test_a_cookie_of_another_server_or_of_nobody_is_worth_nothing(served: approval_page.Served, tmp_path: Path) -> None:
    """Sessions live in the memory of one server, under a name of its own."""
    (tmp_path / "other").mkdir()
    made = scaled(served)
    with approval_page.served(tmp_path / "other") as other:
        foreign = Visitor(other)
        foreign.open(scaled(other))
    (value,) = foreign.cookies.values()
    assert served.keys.cookie not in foreign.cookies
    for text in (value, "", "x", value + "x"):
        assert Visitor(served, {served.keys.cookie: text}).get(served.address(made)).status == 403


@pytest.mark.promise("V-02")
def test_a_key_is_in_no_log(served: approval_page.Served, victim: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever reads the server's log cannot open a plan."""
    caplog.set_level(0)
    made = scaled(served)
    link = served.link(made)
    victim.get(link)
    victim.get(link + "x")
    assert link.partition("key=")[2][:20] not in caplog.text


@pytest.mark.promise("V-02")
def test_large_and_odd_forms_are_refused(served: approval_page.Served, victim: Visitor) -> None:
    """A form without end, with too many fields, or that is no text decides nothing and harms nobody."""
    made = scaled(served)
    fields = {**victim.open(made).page.hidden_fields, "decision": "approve"}
    assert victim.post(made, {**fields, "reason": "x" * 300_000}).status == 403
    assert victim.post(made, {**fields, "override": ["1"] * 20_000}).status == 403
    assert victim.send("POST", served.address(made), "\xff\xfe=%ff", {"Origin": served.url}).status == 403
    assert undecided(served, made)
    assert victim.post(made, fields).status == 303


MARKUP: Final = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "'><svg/onload=window.pwned=1>",
    "</textarea></form><form action=//evil.example><button autofocus>Approve</button>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "{{7*7}}{% raw %}${7*7}",
    "<style>*{display:none}</style><base href=//evil.example>",
    "<!--<bdi></details></section></main>",
    "&lt;b&gt;<details open><summary>",
)


def everywhere(text: str) -> plan.Plan:
    """A plan of which each text is this one."""
    row = inspection.Row(f"data[{text}]", json.dumps(text), json.dumps(text + "!"))
    lines = inspection.Row(f"lines[{text}]", json.dumps(text + "\n1"), json.dumps(text + "\n2"))
    server = inspection.Row(f"status[{text}]", None, json.dumps(text), by_server=True)
    step = approval_page.step(
        text,
        rows=(row, lines, server),
        request=plan.Request("PATCH", f"/api/{text}", ((text, text),), text, text),
        verb="patch",
        group=text,
        version=text,
        resource=text,
        subresource=text,
        namespace=text,
        kind=text,
        findings=(plan.Finding(text, "critical", text), plan.Finding(text, "warning", text)),
        warnings=(text,),
        effects=(text,),
    )
    odd = approval_page.step(verb=text)
    author = plan.Author(text, text, text, text)
    return approval_page.plan_of(
        step, odd, author=author, context=text, cluster=text, script=text, policy=text, reads=(text,)
    )


def told(served: approval_page.Served, made: plan.Plan, victim: Visitor, text: str) -> Iterator[Answer]:
    """The pages of a plan that waits, of its end, and of the history; and the page of a form that is not accepted."""
    served.plans.add(made)
    waiting = victim.open(made)
    yield waiting
    form = waiting.page.hidden_fields
    yield victim.post(made, {**form, "decision": "approve", "reason": text, "override": [text]})
    yield victim.post(made, {**form, "decision": "approve", "reason": text, "override": ["0"]})
    served.plans.claim(made.id, "attack", 600)
    served.plans.mark(made.id, "attack", 0, record.Application("failed", text, text, 409, text, text))
    served.plans.finish(made.id, "attack", "stopped", text)
    yield victim.get(served.address(made) + "?open")
    yield victim.get(f"{served.url}{served.keys.path}/plans")
    yield victim.get(f"{served.url}{served.keys.path}/plans/" + "".join(f"%{byte:02x}" for byte in text.encode()))


ELEMENTS: Final = {
    "a", "bdi", "body", "button", "code", "del", "details", "div", "footer", "form", "h1", "h2", "h3", "h4", "head",
    "header", "html", "input", "ins", "label", "li", "link", "main", "meta", "nav", "ol", "p", "section", "span", "strong",
    "summary", "textarea", "title", "ul",
}  # fmt: skip
"""What our templates write."""


@pytest.mark.promise("V-03")
@pytest.mark.parametrize("text", MARKUP)
def test_no_text_of_a_plan_is_markup(served: approval_page.Served, victim: Visitor, text: str) -> None:
    """In every field of a plan, of a decision and of an application, on every page."""
    shown = 0
    for answer in told(served, everywhere(text), victim, text):
        if answer.status == 303:
            continue
        tags = answer.page.tags
        assert {tag for tag, _ in tags} <= ELEMENTS
        assert {
            name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"
        } == set()
        links = {attributes.get("href", "") for _, attributes in tags} | {a.get("action", "") for _, a in tags}
        assert [
            link for link in links if not link.startswith((served.keys.path + "/", "#", "?", "")) or "//" in link
        ] == []
        shown += text in answer.page.text
    assert shown >= 4


@pytest.mark.promise("V-03")
def test_no_text_of_a_plan_runs_in_a_browser(window: webdriver.Chrome, served: approval_page.Served) -> None:
    """All of it at once in Chromium, which would run what the parser of a test does not know."""
    made = everywhere(" ".join(MARKUP))
    served.plans.add(made)
    window.get(served.link(made))
    window.get(served.address(made) + "?open")
    assert window.execute_script("return window.pwned") is None
    assert window.current_url.startswith(served.url)
    # Nothing was even tried: the policy is the second wall.
    assert [entry for entry in browser.logged(window, "browser") if "Content Security Policy" in entry["message"]] == []
    assert window.execute_script("return document.forms.length") == 1


HIDDEN: Final = {
    "right-to-left override": "\u202e", "isolate": "\u2066", "zero-width space": "\u200b", "joiner": "\u200d",
    "byte order mark": "\ufeff", "soft hyphen": "\u00ad", "tag letter": "\U000e0041", "variation": "\ufe0f",
    "hangul filler": "\u3164", "braille blank": "\u2800", "no-break space": "\u00a0", "escape": "\x1b[2J", "bell": "\x07",
    "line separator": "\u2028", "next line": "\x85", "carriage return": "\r", "newline": "\n", "tab": "\t",
    "musical blank": "\U0001d159", "private use": "\ue000", "many accents": "a" + "\u0335" * 50, "delete": "\x7f",
}  # fmt: skip


@pytest.mark.promise("V-03")
@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
def test_what_nobody_would_see_is_spelled_out(served: approval_page.Served, victim: Visitor, hidden: str) -> None:
    """Invisible, bidirectional and control characters stand as escapes, on the page and in the text, and are counted."""
    made = everywhere(f"web{hidden}-1")
    text = plain.text(record.Record(made, "pending"), 200)
    assert hidden not in text.replace("\n", "") if hidden != "\n" else True
    assert re.search(r"web(a\\u|a\u0335\u0335\\u|\\)", text)
    for answer in told(served, made, victim, "reason"):
        if "Waits for a decision" in answer.body or "Stopped" in answer.body:
            written = answer.page.text.replace("\n", " ")
            assert hidden.strip("\n a") == "" or hidden not in written
            assert 'class="hidden">\\' in answer.body
    for row in view.of(record.Record(made, "pending")).changes[0].rows:
        assert any("invisible or control character" in words for words in row.path.remarks)


TWINS: Final = (
    ("web-1", "web-l"),
    ("web-0", "web-o"),
    ("payment", "payrnent"),
    ("wave", "vvave"),
    ("paypal", "p\u0430ypal"),
    ("store", "\u0455tore"),
    ("web", "\uff57eb"),
    ("web", "we\u0300b"),
    ("web", "web\u200b"),
    ("core", "\u0441\u043e\u0433\u0435"),
    ("a-b", "a\u2010b"),
)


@pytest.mark.promise("V-03")
@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_names_that_look_alike_are_marked(served: approval_page.Served, victim: Visitor, name: str, twin: str) -> None:
    """Both of two objects, and a value that only seems to stay the same."""
    made = served.add(approval_page.step(name), approval_page.step(twin), approval_page.step("other"))
    shown = victim.open(made).page.words
    assert shown.count("which is another name in this plan") == 2
    text = plain.text(record.Record(made, "pending"))
    assert f"looks like {name}" in " ".join(text.split())
    row = inspection.Row(
        "spec.x", json.dumps(f"registry/{name}:1"), json.dumps(f"registry/{twin}:1", ensure_ascii=False)
    )
    changed = served.add(approval_page.step(rows=(row,)))
    assert "old and new look alike" in victim.open(changed).page.words


@pytest.mark.promise("V-03")
def test_names_that_are_unlike_are_not_marked(served: approval_page.Served, victim: Visitor) -> None:
    """A remark that stands at every name is no remark."""
    names = [
        "web",
        "worker",
        "web-0",
        "web-1",
        "web-2",
        "web-10",
        "db",
        "api-v1",
        "api-v2",
        "shop",
        "settings",
        "cart",
        "card",
    ]
    shown = victim.open(served.add(*map(approval_page.step, names))).page
    assert "another name in this plan" not in shown.words
    assert 'class="badge' not in shown.text
    assert "plain ASCII" not in shown.words


MIXED: Final = {
    "p\u0430ypal": "one word mixes letters of Cyrillic and Latin",
    "\u03bfnline": "one word mixes letters of Greek and Latin",
    "abc\u05d0\u05d1": "letters that are read from right to left",
}


@pytest.mark.promise("V-03")
@pytest.mark.parametrize(("text", "remark"), MIXED.items(), ids=["cyrillic", "greek", "hebrew"])
def test_values_that_mix_scripts_are_marked(
    served: approval_page.Served, victim: Visitor, text: str, remark: str
) -> None:
    """Also where there is nothing to compare them with."""
    row = inspection.Row("spec.image", None, json.dumps(f"registry.example/{text}:1", ensure_ascii=False))
    assert remark in victim.open(served.add(approval_page.step(rows=(row,)))).page.words
    assert (
        characters.show("plain text, \N{LATIN SMALL LETTER U WITH DIAERESIS}ber \N{CYRILLIC SMALL LETTER A}").remarks
        == ()
    )


FORGED: Final = {
    "a heading": '"\\n9. Delete namespaces prod: 0 fields"',
    "an end": '"\\nIn all: 1 change (0 fields)."',
    "a sign": '"x\\n+ approved by uid 0 (root)"',
}


@pytest.mark.promise("V-03")
@pytest.mark.parametrize("value", FORGED.values(), ids=FORGED)
def test_no_value_is_a_line_of_its_own(value: str) -> None:
    """In the text for a terminal each line of a value stands behind its sign, further in than any heading."""
    made = approval_page.plan_of(approval_page.step(rows=(inspection.Row("data.x", None, value),)))
    for width in (60, 100):
        lines = plain.text(record.Record(made, "pending"), width).split("\n")
        forged = msgspec.json.decode(value, type=str).split("\n")[1]
        assert [line for line in lines if forged in line] == [f"     + {forged}"]


SAME: Final = {
    "a list that becomes a text": ('[\n1,"' + "x" * 200 + '"]', json.dumps('[\n  1,\n  "' + "x" * 200 + '"\n]')),
    "a blank at the end of a line": (json.dumps("a\nb"), json.dumps("a \nb")),
    "a newline at the end": (json.dumps("a\nb"), json.dumps("a\nb\n")),
    "another kind of newline": (json.dumps("a\nb"), json.dumps("a\r\nb")),
    "a number and its text": ("1" * 200, '"' + "1" * 200 + '"'),
    "one letter of many": (json.dumps("x" * 100_000), json.dumps("x" * 99_999 + "y")),
}


@pytest.mark.promise("V-04")
@pytest.mark.parametrize(("old", "new"), SAME.values(), ids=SAME)
def test_no_change_of_a_long_value_is_left_out(old: str, new: str) -> None:
    """Values that are compared line by line show what goes and what comes, however little it is."""
    entry = record.Record(
        approval_page.plan_of(approval_page.step(rows=(inspection.Row("data.x", old, new),))), "pending"
    )
    (row,) = view.of(entry).changes[0].rows
    gone = [line.text.text for line in row.lines if line.sign == "\N{MINUS SIGN}"]
    come = [line.text.text for line in row.lines if line.sign == "+"]
    assert gone != come and (gone or come)


@pytest.mark.promise("V-04")
def test_values_that_are_slow_to_compare_are_shown_whole() -> None:
    """Thousands of equal lines in another order would take difflib minutes; all of them are on the page."""
    old = [str(number % 7) for number in range(20_000)]
    new = [str(number % 5) for number in range(20_000)]
    row = inspection.Row("data.x", json.dumps("\n".join(old)), json.dumps("\n".join(new)))
    (shown,) = view.of(record.Record(approval_page.plan_of(approval_page.step(rows=(row,))), "pending")).changes[0].rows
    assert [line.text.text for line in shown.lines if line.sign == "\N{MINUS SIGN}"] == old
    assert [line.text.text for line in shown.lines if line.sign == "+"] == new


@pytest.mark.sampled
@pytest.mark.promise("V-04")
@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\u0f75\u0f72", "\u0344\u0316", "\uff9e\uff9f"])
def test_marks_that_are_slow_to_sort_are_not_sorted(marks: str) -> None:
    """A run of them is put in order by the standard library, and some become two of them first: a value of a megabyte
    would take it an hour."""
    old, new = (json.dumps("x" + marks * extent.count(200_000, 100_000) + end, ensure_ascii=False) for end in "ab")
    row = inspection.Row("data.x", old, new)
    (shown,) = view.of(record.Record(approval_page.plan_of(approval_page.step(rows=(row,))), "pending")).changes[0].rows
    assert [shown.sign, len(shown.lines)] == ["~", 2]


@pytest.mark.sampled
@pytest.mark.promise("V-04")
def test_no_change_hides_among_twenty_thousand(served: approval_page.Served, victim: Visitor) -> None:
    """Every field is on the page and counted, in its heading and in the form; also one that the server is said to set.
    In `make test` there are two thousand."""
    count = extent.count(20_000, 2_000)
    noise = tuple(
        inspection.Row(f"data.key{number}", None, str(number), by_server=number % 2 == 1) for number in range(count)
    )
    needle = inspection.Row("spec.template.spec.hostNetwork", "false", "true", by_server=True)
    place = count * 9 // 20
    made = served.add(approval_page.step(rows=(*noise[:place], needle, *noise[place:])), approval_page.release()[0])
    answer = victim.open(made)
    page = answer.page
    shown = re.findall(r'<p class="path"><bdi class="v code">([^<]*)</bdi>', answer.body)
    assert sorted(shown) == sorted([*(row.path for row in noise), needle.path, "spec.replicas"])
    assert f"2 changes ({count + 2:,} fields)" in page.words
    assert f"{count // 2:,} fields, {count // 2 + 1:,} set by the server" in page.words
    assert f"Approve 2 changes ({count + 2:,} fields)" in page.words
    # Only what the server adds is closed; what decides stands open above all.
    assert [a for tag, a in page.tags if tag == "details"][:-1] == [{}]
    assert shown[0] == needle.path
    assert victim.post(made, {**page.hidden_fields, "decision": "approve"}).status == 303


DECISIVE: Final = {
    "a script in a ConfigMap": ('data["run.sh"]', {"group": "", "resource": "configmaps"}),
    "a command": ("spec.template.spec.containers[web].command[2]", {}),
    "an image of a custom resource": ("spec.workers[0].image", {"group": "example.com", "resource": "farms"}),
    "a volume of a pod": ("spec.volumes[host].hostPath.path", {"group": "", "resource": "pods"}),
    "a right": ("rules[0].verbs[1]", {"group": "rbac.authorization.k8s.io", "resource": "roles"}),
    "a label by which roles are aggregated": (
        'metadata.labels["rbac.example.com/aggregate-to-admin"]',
        {"group": "rbac.authorization.k8s.io", "resource": "clusterroles"},
    ),
}


@pytest.mark.promise("V-04")
@pytest.mark.parametrize("by_server", [False, True], ids=["named", "by the server"])
@pytest.mark.parametrize(("path", "place"), DECISIVE.values(), ids=DECISIVE)
def test_what_decides_is_seen_without_opening_anything(
    window: webdriver.Chrome, served: approval_page.Served, path: str, place: dict[str, str], by_server: bool
) -> None:
    """In a change of many fields, one that decides what runs or with which rights comes first, and all lines of its
    value are on the page. Only what the API server adds is closed."""
    noise = tuple(
        inspection.Row(f"metadata.annotations.option{number}", None, '"1"', by_server=number > 0)
        for number in range(600)
    )
    value = "\\n".join(f"line {number}" for number in range(60))
    needle = inspection.Row(path, None, f'"{value}"', by_server=by_server)
    made = served.add(approval_page.step(rows=(*noise, needle), **place))
    window.get(served.link(made))
    rows = window.find_elements(By.CSS_SELECTOR, "#change-1 .rows > li")
    assert len(rows) == 601 and rows[0].text.startswith(path)
    assert rows[0].is_displayed() and "line 59" in rows[0].text
    assert rows[1].is_displayed() and not rows[2].is_displayed()
    text = plain.text(record.Record(made, "pending"), 200)
    assert text.index(f"   {path}:") < text.index("   metadata.annotations.option0:")


@pytest.mark.promise("V-04")
def test_only_what_the_server_adds_may_be_closed() -> None:
    """Not the new text behind its masks, and no value that it changes."""
    added = inspection.Row("spec.note", None, '"x"', by_server=True)
    hidden = inspection.Row("spec.script", None, '"«redacted:password:5e0f»"', by_server=True, hidden_lines=1)
    changed = inspection.Row("spec.externalName", '"a"', '"b"', by_server=True)
    made = approval_page.plan_of(approval_page.step(rows=(added, hidden, changed)))
    (shown,) = view.of(record.Record(made, "pending")).changes
    groups = (shown.decisive, shown.rows, shown.server_rows)
    assert [row.path.text for group in groups for row in group] == ["spec.script", "spec.externalName", "spec.note"]
    assert shown.counts == "0 fields, 3 set by the server"


@pytest.mark.promise("V-04")
def test_the_second_of_two_patches_that_look_the_same_is_shown(served: approval_page.Served, victim: Visitor) -> None:
    """Each patch of one object says which it is, and shows its own fields."""
    first = approval_page.step(rows=(inspection.Row("spec.replicas", "3", "4"),))
    second = approval_page.step(rows=(inspection.Row("spec.replicas", "4", "400"),))
    words = victim.open(served.add(first, second)).page.words
    assert "first of 2 changes to this object" in words and "second of 2 changes to this object" in words
    assert "400" in words and "2 changes to 1 object" in words
