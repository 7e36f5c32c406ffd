"""A script shapes a log as it likes, by lines, bytes, moments and stamps: what is masked stays masked in the same way."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubescript import errors
from kubescript_masking.engine import pieces
from kubescript_masking.wire import masking
from security_tests.redaction import corpus, engine, floods, saved_logs, sheet
from security_tests.redaction.chance import Chance
from security_tests.redaction.saved_logs import Logs
from tests.kit import cases

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]
WORD = Chance("shaped").base62(20)
KEY = [Chance(f"key {line}").base62(64) for line in range(12)]
LONG_KEY = [Chance(f"long key {line}").base62(64) for line in range(390)]
BEGIN, END = "-----BEGIN RSA PRIV" + "ATE KEY-----", "-----END RSA PRIV" + "ATE KEY-----"
PEM = [BEGIN, *KEY, END]


def each(lead: str, lines: list[str], behind: str = "") -> str:
    """The lines with the same before and behind each."""
    return "".join(f"{lead}{line}{behind}\n" for line in lines)


FORMS = {
    "a key": each("", PEM),
    "a key in brackets": each("[2026-01-31 12:00:00] INFO ", PEM),
    "a key in a log of JSON": each('{"level":"info","msg":"', PEM, '","caller":"a.go:7"}'),
    "a key behind a service's name": each("web_1  | ", PEM),
    "a key with headers": each("", [BEGIN, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B", "", *KEY, END]),
    "a coloured key": each("\x1b[32m", PEM, "\x1b[0m"),
    "an indented key": each("    ", PEM),
    "a long key": each("", [BEGIN, *LONG_KEY, END]),
    "a folded value": f"spec:\n  password: >-\n    {WORD}\n  user: me\n",
    "a literal value": f"auth:\n  token: |\n    {WORD}\n    {WORD[::-1]}\n  user: me\n",
    "a literal value in a list": f"- client_secret: |\n    {WORD}\n- user: me\n",
    "a CSV": f"name,password\nalice,{WORD}\nbob,{WORD[::-1]}\n",
    "a CSV with semicolons": f"user;token;role\nalice;{WORD};admin\n",
    "a CSV with quotes": f'"name","password"\n"alice","{WORD}"\n',
    "columns with tabs": f"user\tapi_key\nalice\t{WORD}\n",
    "a table of a database": f" user  | password\n-------+---------\n alice | {WORD}\n",
    "a table of kubectl": f"NAME    TOKEN\nalice   {WORD}\n",
    "name and value": f"env:\n- name: DB_PASSWORD\n  value: {WORD}\n- name: LEVEL\n  value: info\n",
    "name and value in JSON": f'{{\n  "name": "API_TOKEN",\n  "value": "{WORD}"\n}}\n',
    "an announced password": f"Password for the elastic user:\n{WORD}\n",
    "an announced password below a blank line": f"Your new API token:\n\n{WORD}\n",
    "an announced password with a lead": f"12:00:00 INFO Initial admin password:\n12:00:00 INFO {WORD}\n",
    "a form's field": f'Content-Disposition: form-data; name="password"\n\n{WORD}\n',
    "a form's field with a type": f'Content-Disposition: form-data; name="token"\nContent-Type: text/plain\n\n{WORD}\n',
    "SMTP": f"S: 334 UGFzc3dvcmQ6\nC: {WORD}\n",
    "a key between other lines": "one\r\ntwo \u00e4\u00f6\u00fc\n" + each("", PEM) + f"password={WORD}\n\nthree\n",
}  # fmt: skip
"""What goes over several lines of a log."""
ORDINARY = "".join(f"level=info msg=served path=/{number}\n" for number in range(3))
TAILS = (None, 0, 1, 2, 4, 9, 10**9)
LIMITS = (None, 35, 200)
SINCE = (None, "sinceTime", "sinceSeconds")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    texts = {name(form): ORDINARY + FORMS[form] + ORDINARY for form in FORMS}
    return Logs(tmp_path_factory.mktemp("logs"), texts)


def name(form: str) -> str:
    return form.lower().replace(" ", "-").replace("'", "")


def shapes(lines: int) -> Iterator[tuple[dict[str, str], int, int]]:
    """Parameters, the first line that they ask for, and how many bytes."""
    for tail, limit, since in itertools.product(TAILS, LIMITS, SINCE):
        query = {} if tail is None else {"tailLines": str(tail)}
        first = 0 if tail is None else max(0, lines - tail)
        if limit is not None:
            query["limitBytes"] = str(limit)
        if since == "sinceTime":
            query["sinceTime"] = saved_logs.stamp(lines // 2)
            first = max(first, lines // 2)
        if since == "sinceSeconds":
            query["sinceSeconds"] = "60"  # the moment of the first line
        yield query, first, limit or 1 << 30


@pytest.mark.promise("S-01", "S-05")
@cases.each("form", FORMS)
def test_a_shaped_log_is_masked_like_the_whole(form: str, logs: Logs, attacks: Count) -> None:
    """Masked and then shaped, or shaped and then masked: it is the same, and no part of a secret is in it."""
    text = ORDINARY + FORMS[form] + ORDINARY
    whole = logs.read(name(form))
    assert whole == engine.masked(logs.masking, floods.log(text)), "stamps change what is masked"
    for secret in (WORD, WORD[::-1], *KEY, *LONG_KEY):
        assert secret.encode() not in whole, secret
    stamped = logs.read(name(form), timestamps="true").splitlines(keepends=True)
    numbers = {f"{saved_logs.stamp(number)} ".encode(): number for number in range(text.count("\n"))}
    lines = [(numbers[line[:31]], line) for line in stamped]
    assert b"".join(line[31:] for _, line in lines) == whole
    tried = 0
    for query, first, limit in shapes(text.count("\n")):
        for stamps in ("true", "false"):
            tried += 1
            expected = b"".join(line[0 if stamps == "true" else 31 :] for number, line in lines if number >= first)
            answer = logs.read(name(form), timestamps=stamps, **query)
            assert expected.startswith(answer), query
            assert min(limit, len(expected)) - 3 <= len(answer) <= limit, query  # a character may have four bytes
            answer.decode()
    attacks(tried)


@pytest.mark.promise("S-01", "S-05")
@pytest.mark.parametrize("part", [corpus.main, corpus.held_out, corpus.third, corpus.fourth])
def test_a_cut_log_gives_no_half_secret(
    part: Callable[[], tuple[sheet.Document, ...]], tmp_path: Path, attacks: Count
) -> None:
    """A script that has a log cut within a secret (limitBytes) gets no part of it that the whole log does not show."""
    documents = {f"log-{number}": one for number, one in enumerate(part()) if one.form == "text"}
    logs = Logs(tmp_path, {pod: one.body.decode() for pod, one in documents.items()})
    cuts = 0
    for pod, document in documents.items():
        whole = logs.read(pod)
        for core in (core.encode() for secret in document.secrets for core in secret.cores):
            at = document.body.find(core)
            for kept in (at + 10, at + len(core) - 1) if at >= 0 else ():
                cuts += 1
                assert whole.startswith(logs.read(pod, limitBytes=str(kept))), (pod, core)
    attacks(cuts)
    assert cuts


DENSE = "".join(f"note {number}\n\nPassword of root:\nhunter{number}x\n" for number in range(20_000))


@pytest.mark.promise("S-03", "S-07")
def test_dense_lines_are_masked_alike_however_they_arrive(logs: Logs, attacks: Count) -> None:
    """A megabyte of lines that were written to keep us busy is masked by parts; where those end hangs on the bytes."""
    attacks(3)
    flood = floods.log(DENSE)
    whole = engine.masked(logs.masking, flood)
    assert b"suspicious" in whole and b"hunter19999x" not in whole
    for seed in ("one", "two"):
        assert engine.masked(logs.masking, flood, seed) == whole
    assert engine.masked(logs.masking, floods.log(ORDINARY)) == ORDINARY.encode()


BEGUN = {
    "a key": (each("", [BEGIN, *KEY[:2]]), each("", [*KEY[2:], END])),
    "an announced password": ("Password of root:\n", f"{WORD}\n"),
}
"""What begins in one block of a log, and how it goes on in the next one."""


@pytest.mark.promise("S-01", "S-07")
@cases.each("name", BEGUN)
def test_what_begins_in_lines_that_are_masked_as_a_whole_goes_on_below(name: str, logs: Logs, attacks: Count) -> None:
    """Among dense lines the masker reads none of it; behind them it does, and reads what is ordinary as ever."""
    attacks(1)
    begins, goes_on = BEGUN[name]
    last = begins.splitlines(keepends=True)[-1]
    room = pieces._LOG - 5 - len(begins) + len(last)
    top = DENSE[: room - 100].ljust(room - 1, "-") + "\n"
    masked = engine.masked(logs.masking, floods.log(top + begins + goes_on + ORDINARY))
    assert b"suspicious" in masked
    assert not [secret for secret in (WORD, *KEY) if secret.encode() in masked]
    assert masked.endswith(ORDINARY.encode())


@pytest.mark.promise("S-07")
def test_the_last_billion_lines_are_refused(tmp_path: Path, attacks: Count) -> None:
    """Forty megabytes of short lines, of which a script wants the last 10**9: it is told so, and no host holds them as
    millions of lines. The next call works."""
    attacks(1)
    logs = Logs(tmp_path, {"long": ""})
    logs.write("long", f"{saved_logs.stamp(0)} \n" * (40_000_000 // 32))
    logs.read("long", tailLines="1")
    tracemalloc.start()
    try:
        with pytest.raises(errors.ClusterError, match="ask for fewer lines") as refused:
            logs.read("long", tailLines=str(10**9))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.code == "cluster.too_large"
    assert peak < 80_000_000
    assert logs.read("long", tailLines="2") == b"\n\n"
    assert logs.read("long", limitBytes="3") == b"\n\n\n"


LINE_OF_A_KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
ERRORS = ["Error: database is gone", "Fatal: giving up after 5 tries", "panic: nil map", "ok", "bye"]


@pytest.mark.promise("F-10")
@cases.each("first", [LINE_OF_A_KEY, BEGIN])
@cases.each("stamp", ["", "2026-01-31T12:00:00.000000000Z "])
def test_no_line_of_a_log_goes_without_a_word(first: str, stamp: str, attacks: Count) -> None:
    """A log that begins like a key lost its errors, up to 400 lines, and nothing said so."""
    attacks(1)
    found: list[str] = []
    log = engine.rules(b"gone").body(
        masking.Body(form="log"), iter([each(stamp, [first, *ERRORS]).encode()]), found.append
    )
    masked = b"".join(log).decode()
    assert [line for line in ERRORS if line not in masked] == []
    assert first == BEGIN or (first not in masked and found == ["private-key"])


@pytest.mark.promise("S-01")
@cases.each("lead", ["", "key ", "2026-01-31T12:00:00.000000000Z "])
def test_a_token_before_a_carriage_return_is_masked_from_its_first_letter(lead: str, attacks: Count) -> None:
    """In a log its line ends before the sign that shows where a token ends; one letter was left of it."""
    attacks(1)
    text = f"first\r\n{lead}s4RrfrZ9i5trWkgqanCzDP8jqwJ\r\nlast\r\n"
    masked = engine.masked(engine.fresh(), floods.log(text)).decode()
    assert f"{lead}«redacted:token:" in masked and "s4R" not in masked and masked.endswith("»\r\nlast\r\n")
