"""A command line becomes words as a shell would quote them, and what only a shell understands is refused."""

from __future__ import annotations

import pytest

from kubescript import errors
from kubescript.commands import line

WORDS = (
    ("get pods", ["get", "pods"]),
    ("  oc   get pods \n", ["get", "pods"]),
    ("kubectl get pods", ["get", "pods"]),
    ("oc oc get", ["oc", "get"]),
    ("get pods -l 'app in (a, b)'", ["get", "pods", "-l", "app in (a, b)"]),
    ("get pods -l app=a,tier!=b -n ''", ["get", "pods", "-l", "app=a,tier!=b", "-n", ""]),
    ("get po -o jsonpath='{.items[?(@.x>1)].y}'", ["get", "po", "-o", "jsonpath={.items[?(@.x>1)].y}"]),
    ('get po -o "jsonpath={.items[?(@.a==\\"b\\")].c}"', ["get", "po", "-o", 'jsonpath={.items[?(@.a=="b")].c}']),
    (r'get po -o jsonpath="{.items[*].metadata.annotations.a\.b/c}{\"\n\"}"',
     ["get", "po", "-o", r'jsonpath={.items[*].metadata.annotations.a\.b/c}{"\n"}']),
    (r"label pod x a=b\ c", ["label", "pod", "x", "a=b c"]),
    (r"get po a\|b", ["get", "po", "a|b"]),
    ("get po $HOME ~ * ${X} {a,b} #x !x", ["get", "po", "$HOME", "~", "*", "${X}", "{a,b}", "#x", "!x"]),
    ("get configmaps über-名", ["get", "configmaps", "über-名"]),
    ("annotate pod x note='a; b && c | d > e `f` $(g)'", ["annotate", "pod", "x", "note=a; b && c | d > e `f` $(g)"]),
)  # fmt: skip

SHELL = (
    ("get pods | grep web", "|"),
    ("get pods|grep web", "|"),
    ("get pods '|' grep web", "|"),
    ("get pods > /tmp/x", ">"),
    ("get pods -o yaml>x", ">"),
    ("get pods >> x", ">>"),
    ("get pods 2>&1", ">"),
    ("create -f - < x", "<"),
    ("apply -f - <<EOF", "<"),
    ("get pods; delete pod x", ";"),
    ("get pods && get nodes", "&&"),
    ("get pods || true", "||"),
    ("get pods &", "&"),
    ("get pod $(get pods -o name)", "$("),
    ('get pod "$(get pods -o name)"', "$("),
    ("get pod `get pods -o name`", "`"),
    ('get pod "`id`"', "`"),
    ("get po -o jsonpath={.items[?(@.x>1)].y}", ">"),
    ("get po 'a'\"b\"\\''c'|d", "|"),
)

BROKEN = {
    "nothing": "",
    "only spaces": " \t\n ",
    "only the program": "oc",
    "an open quote": "get 'pods",
    "an open double quote": 'get "pods',
    "an escape of nothing": "get pods \\",
    "NUL": "get pods\0-n x",
    "a second line": "get pods\ndelete pod x",
    "a tab": "get\tpods",
    "an escape sequence": "get pods \x1b[2J",
    "a zero-width space": "get pods --tok\u200ben=x",
    "text from right to left": "get pods \u202e-n x",
    "half of a pair": "get pods \ud800",
    "a long dash": "get pods \u2014token=x",
    "a short dash": "get pods \u2013n x",
    "a minus of typographers": "get pods \u2010n x",
    "more bytes than are read": "get pods " + "x" * line.MAX_BYTES,
    "more bytes than characters": "get pods " + "名" * (line.MAX_BYTES // 2),
    "ten thousand words": "get pods " + "x " * 10_000,
    "a word too many": "get " + "x " * line.MAX_WORDS,
}


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_a_line_is_read_as_a_shell_quotes_it_and_nothing_is_expanded(text: str, words: list[str]) -> None:
    assert line.split(text, "oc") == words


@pytest.mark.parametrize(("text", "sign"), SHELL)
def test_shell_syntax_is_refused_with_what_to_write_instead(text: str, sign: str) -> None:
    with pytest.raises(errors.RequestError) as caught:
        line.split(text, "oc")
    assert caught.value.code == "request.command_line"
    assert f"there is no shell, so {sign} does nothing" in caught.value.message
    assert "jsonpath" in caught.value.message


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_line_that_cannot_be_read_is_refused_and_the_message_is_one_that_can_be_sent(text: str) -> None:
    with pytest.raises(errors.RequestError) as caught:
        line.split(text, "oc")
    assert caught.value.code == "request.command_line"
    assert caught.value.message.encode()
    assert len(caught.value.message) < 300


def test_openstack_has_its_own_name_and_its_own_advice() -> None:
    assert line.split("openstack server list --name 'a b'", "openstack") == ["server", "list", "--name", "a b"]
    assert line.split("oc server", "openstack") == ["oc", "server"]
    with pytest.raises(errors.RequestError, match="-f json and -c COLUMN"):
        line.split("openstack server list | grep x", "openstack")
    with pytest.raises(errors.RequestError, match="server list"):
        line.split("openstack", "openstack")


def test_a_line_of_just_the_greatest_size_is_read() -> None:
    assert len(line.split("get " + "x " * (line.MAX_WORDS - 1), "oc")) == line.MAX_WORDS
    assert line.split("get '" + "x" * (line.MAX_BYTES - 6) + "'", "oc")[1] == "x" * (line.MAX_BYTES - 6)
