"""Log lines of sources, as a masker reads them: the lines of a stream are one log, however they came."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from kubescript import config, errors, redaction
from kubescript_masking.wire import masking as wire
from security_tests.redaction import corpus
from security_tests.redaction.chance import Chance
from security_tests.redaction.sources import LABELS, SECRET, TIME, Door, answer, series, stream
from tests.kit import cases

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]


@pytest.fixture(scope="module")
def masking() -> Iterator[redaction.Engine]:
    engine = redaction.Engine(config.Redaction(), b"a key")
    yield engine
    engine.close()


KEY: Final = [Chance(f"key {line}").base62(64) for line in range(12)]
PEM: Final = ["-----BEGIN RSA PRIV" + "ATE KEY-----", *KEY, "qX3fR7aZ2w==", "-----END RSA PRIV" + "ATE KEY-----"]
BETWEEN: Final = ["before", *PEM, "after"]


def lines_of(door: Door) -> list[str]:
    """All lines, in the order of their streams."""
    return [entry[1] for one in door.json["data"]["result"] for entry in one["values"]]


def alone(lines: list[str]) -> list[str]:
    """A stream for each line, as Loki answers where labels differ by line, in no order."""
    numbered = list(enumerate(lines))
    random.Random("streams").shuffle(numbered)
    return [f'{{"stream":{{"trace":"{at}"}},"values":[["{TIME + at}",{json.dumps(line)}]]}}' for at, line in numbered]


CUT: Final = {
    "oldest first": [stream(BETWEEN)],
    "newest first": [stream(BETWEEN[::-1], -1)],
    "at one time": [stream(BETWEEN, 0)],
    "at one time, newest first": [stream(BETWEEN[::-1], 0)],
    "from its middle": [stream(BETWEEN[5:])],
    "from its middle, newest first": [stream(BETWEEN[:4:-1], -1)],
    "every third line": [stream(["before", *KEY[::3], "after"])],
    "its end": [stream(["before", *PEM[-2:], "after"])],
    "its end, newest first": [stream(["after", *PEM[:-3:-1], "before"], -1)],
    "one line among others": [stream(["before", "x", KEY[7], "after"])],
    "a stream for each line": alone(BETWEEN),
    "one entry": [stream(["before", "\n".join(PEM), "after"])],
    "some lines in one entry": [stream(["before", *PEM[:3], "\r\n".join(PEM[3:7]), *PEM[7:], "after"])],
    "carriage returns": [stream(["before", *(f"{line}\r" for line in PEM), "after"])],
    "colours": [stream(["before", *(f"\x1b[32m{line}\x1b[0m" for line in PEM), "after"])],
    "an indent": [stream(["before", *(f"    {line}" for line in PEM), "after"])],
}
"""Answers with the lines of a key."""


@pytest.mark.promise("S-14", "S-01")
@cases.each("way", CUT)
@pytest.mark.parametrize("packed", [False, True])
def test_no_line_of_a_key_passes(way: str, packed: bool, masking: redaction.Engine, attacks: Count) -> None:
    """However its lines come, none passes; all other lines stay at their places, and an empty one is where one was
    removed."""
    attacks(1)
    body = answer(*CUT[way], kind="streams")
    door = Door(masking, "streams", body, packed=packed)
    assert not [line for line in [*KEY, PEM[-2]] if line in door.text.decode()]
    sent = [entry for one in json.loads(body)["data"]["result"] for entry in one["values"]]
    lines = lines_of(door)
    assert [line.count("\n") for line in lines] == [entry[1].count("\n") for entry in sent]
    assert lines.index("after") == [entry[1] for entry in sent].index("after")
    assert door.trailer == wire.Trailer(items=len(sent))


CARRIED: Final = {
    "klog": "I0101 00:00:00.000000       1 main.go:10] {}",
    "a level": "2026-01-01 00:00:00,123 [main] INFO  c.e.App - {}",
    "a word": "INFO {}",
    "CRI": "2026-01-01T00:00:00.123456789Z stdout F {}",
    "compose": "web-1  | {}",
    "logfmt": "time=2026-01-01T00:00:00Z level=info msg={}",
    "logfmt, quoted": 'time=2026-01-01T00:00:00Z level=info msg="{}"',
    "JSON": '{{"level":"info","msg":"{}","app":"web"}}',
    "JSON with line ends": '{{"sha":"' + "3f9a12cd" * 8 + '","log":"{}\\n"}}',
    "zap": '2026-11-27T19:00:00.000Z\tINFO\tsetup\tmain.go:10\t{}\t{{"controller": "tls"}}',
    "zap, with a number": '2026-11-27T19:00:00.000Z\tINFO\t{}\t{{"n": 1}}',
    "colours": "\x1b[32mINFO\x1b[0m {} \x1b[2mcaller=x\x1b[0m",
    "bars": "2026|INFO|main|{}|req-1",
    "colons": "1:{}:2",
    "a full stop": "#{}.",
    "tabs in JSON": '{{"log":"x\\t{}\\t1"}}',
    "JSON within JSON": '{{"log":"{{\\"msg\\":\\"{}\\"}}\\n"}}',
}
"""What loggers write around a line, here of a key."""


@pytest.mark.promise("S-14", "S-01")
@cases.each("way", CARRIED)
def test_no_line_of_a_key_passes_where_a_logger_wrote_it(way: str, masking: redaction.Engine, attacks: Count) -> None:
    """With its first line or without, newest first or alone, a key's line is masked in the line and in a label that a
    parser made of it, and so is its last line; a line beside it passes."""
    attacks(5)
    lines = [CARRIED[way].format(line) for line in KEY]
    end = [CARRIED[way].format(line) for line in PEM[-2:]]
    whole = [CARRIED[way].format(line) for line in PEM]
    for some, made in (*((some, KEY[0]) for some in (whole, lines, lines[::-1], lines[:1])), (end, PEM[-2])):
        labels = json.dumps({"msg": made, "app": "web"})
        body = answer(stream(["before", *some, "after"], labels=labels), kind="streams")
        door = Door(masking, "streams", body)
        assert not [line for line in [*KEY, PEM[-2]] if line in door.text.decode()]
        assert lines_of(door)[0] == "before" and lines_of(door)[-1] == "after"
        assert door.json["data"]["result"][0]["stream"]["app"] == "web" or way == "JSON"


TEXT: Final = f'["{TIME}","x"]'
IN_LINES: Final[dict[str, str]] = {
    "a line": stream([f"connect db_password={SECRET} now"]),
    "a line of JSON": stream([json.dumps({"msg": "x", "password": SECRET})]),
    "two lines": stream(["Password for root:", SECRET]),
    "two lines, newest first": stream([SECRET, "Password for root:"], -1),
    "two streams": ",".join(alone(["Password for root:", SECRET])),
    "a table": stream(["name,password", f"alice,{SECRET}"]),
    "a long line": stream(["x" * 256 * 1024 + f" password={SECRET} " + "y" * 256 * 1024]),
    "colours": stream([f"\x1b[1mpassword\x1b[0m=\x1b[31m{SECRET}\x1b[0m"]),
    "a label": stream(["x"], labels=LABELS),
    "a label of a line": stream(["x", "y"], more=f',{{"structuredMetadata":{{"password":"{SECRET}"}}}}'),
    "a fourth part of a line": stream(["x"], more=f',{{}},"{SECRET}"'),
    "a field of a stream": f'{{"stream":{{}},"values":[{TEXT}],"password":"{SECRET}"}}',
}


@pytest.mark.promise("S-14", "S-01")
@cases.each("place", IN_LINES)
def test_no_secret_of_a_log_passes(place: str, masking: redaction.Engine, attacks: Count) -> None:
    """A secret in a line, on the line below its name, or in a label is masked; the next answer passes as ever."""
    attacks(1)
    assert SECRET not in Door(masking, "streams", answer(IN_LINES[place], kind="streams")).text.decode()
    plain = answer(stream(["a", "b"]), kind="streams")
    assert Door(masking, "streams", plain).text.decode() == plain


PARSED: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "a name beside": (f'{{"env":{{"name":"DB_PASSWORD","value":"{SECRET}"}}}}', {"env_value": SECRET}),
    "a Secret": ('{"kind":"Secret","data":{"foo":"VHIwdWI0ZG9yLWFuZC0z"}}', {"data_foo": "VHIwdWI0ZG9yLWFuZC0z"}),
    "a name in full-width letters": (f'{{"ｐａｓｓｗｏｒｄ":"{SECRET}"}}', {"________": SECRET}),
    "a name in Russian": (f"пароль={SECRET}", {"______": SECRET}),
    "words as names": (f"Initial password for root: {SECRET}", {SECRET.replace("-", "_"): ""}),
    "a command": (f"curl -u ci:{SECRET} https://x/", {f"ci:{SECRET}".replace("-", "_").replace(":", "_"): ""}),
    "a cookie": ("Set-Cookie: sid=q8Zr3TnB5wLx7VdK2m; Path=/", {"sid": "q8Zr3TnB5wLx7VdK2m;"}),
    "an escape": ('{"password":"Tr0ub\\u0034dor\\n\\"z"}', {"_": 'Tr0ub4dor\n"z'}),
    "an error": (f'{{"password":"{SECRET}"}}', {"__error_details__": f'strconv.ParseFloat: parsing "{SECRET}"'}),
}
"""A line, and the labels that Loki's parsers make of it."""


@pytest.mark.promise("S-14", "S-01")
@cases.each("way", PARSED)
def test_labels_tell_nothing_that_is_masked_in_their_line(way: str, masking: redaction.Engine, attacks: Count) -> None:
    """What a parser takes out of a line, as a value or as a name, is masked as in the line; labels of other words stay,
    and so do those of the next stream."""
    attacks(2)
    line, parsed = PARSED[way]
    plain = {"app": "web", "pod": "web-1", "status": "500"}
    for more in ("", f',{{"parsed":{json.dumps(parsed)}}}'):
        own = plain if more else plain | parsed
        one = stream([line, "status=500 ok"], labels=json.dumps(own), more=more)
        text = Door(masking, "streams", answer(one, stream([line.replace("=", ""), "ok"]), kind="streams"))
        first, second = text.json["data"]["result"]
        told = json.dumps(first, ensure_ascii=False).replace("_", "-")
        assert not [word for word in ("Tr0ub", "VHIwdWI0", "q8Zr3TnB5wLx7VdK2m") if word in told], told
        assert first["stream"].items() >= plain.items() and "redacted" not in str(second["stream"])


@pytest.mark.promise("S-14")
def test_a_line_alone_keeps_what_is_not_secret(masking: redaction.Engine, attacks: Count) -> None:
    """Where all lines have one time, only their secrets are masked, also with masks that are drawn anew."""
    attacks(1)
    body = answer(stream([f"user=ci password={SECRET} ok=1"]), kind="streams")
    door = Door(masking, "streams", body, echo=True)
    (line,) = lines_of(door)
    assert line.startswith("user=ci password=«redacted:password:") and line.endswith("» ok=1")


@pytest.mark.promise("S-14")
def test_series_of_a_log_are_masked_as_series(masking: redaction.Engine, attacks: Count) -> None:
    """The answer to a count of lines is a matrix, and its labels are masked."""
    attacks(2)
    plain = answer(series(), more=',"stats":{"summary":{"execTime":0.1}}')
    assert Door(masking, "streams", plain).text.decode() == plain
    assert SECRET not in Door(masking, "streams", answer(series(LABELS))).text.decode()


BROKEN: Final = (
    '{"stream":{},"values":[["1","a"],["2"]]}',
    '{"stream":{},"values":[[1,"a"]]}',
    f'{{"stream":{{}},"values":[["password={SECRET}","a"]]}}',
    f'{{"stream":{{}},"values":["password={SECRET}"]}}',
    f'{{"metric":{{}},"values":[["1","{SECRET}"]]}}',
    stream(["x"], more=f',"password={SECRET}"'),
    stream(["x"], labels=f'{{"password":["{SECRET}"]}}'),
)


@pytest.mark.promise("S-14", "S-12")
@cases.each("result", BROKEN)
def test_log_lines_of_another_shape_are_an_error(result: str, masking: redaction.Engine, attacks: Count) -> None:
    """Nothing of them passes, with masks or without; the next answer does."""
    attacks(1)
    with pytest.raises(errors.ClusterError, match="needs a time and a text"):
        Door(masking, "streams", answer(result, kind="streams"))
    plain = answer(stream(["a"]), kind="streams")
    assert Door(masking, "streams", plain).text.decode() == plain


LOOKALIKES: Final = [
    "3f9a12cd" * 8,
    "3F9A12CD" * 8,
    "b" * 64,
    "Kubernetes" * 7,
    "1732730000" * 7,
    "7d444840-9dc0-11d1-b245-5ffdce74fad2," * 2,
    "/var/lib/Docker2/overlay2/" + "l" * 40 + "/Merged.log",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA" + "Ig8fWq2T" * 5 + "Zk1 ci@web",
    "digest of\t" + "Kq3_" * 18 + "\tis new",
]
"""Lines that look like those of a key."""


@pytest.mark.promise("S-02", "S-14")
def test_ordinary_lines_come_out_as_from_a_container(masking: redaction.Engine, attacks: Count) -> None:
    """What controllers and applications log is masked as in a container's own log, newest first too, and what looks like
    a line of a key is not touched."""
    logs = [one.body.decode().splitlines() for one in corpus.ordinary() if one.form == "text"]
    attacks(len(logs))
    for lines in [*logs, LOOKALIKES]:
        expected = Door(masking, "log", "\n".join(lines)).text.decode().split("\n")
        streams = answer(stream(lines), stream(lines[::-1], -1), kind="streams")
        assert lines_of(Door(masking, "streams", streams)) == [*expected, *reversed(expected)]
    assert expected == LOOKALIKES


@pytest.mark.promise("S-07", "S-14")
def test_dense_lines_keep_their_places(masking: redaction.Engine, attacks: Count) -> None:
    """Lines that were written to keep a masker busy, some with line feeds, end as many as they were; no secret of theirs
    passes, and no line gets the time of another."""
    attacks(1)
    lines = [f"tag-{at}-\n\rPassword of root:\r\n{SECRET}{at}" if at % 3 else f"tag-{at}-" for at in range(20_000)]
    door = Door(masking, "streams", answer(stream(lines), kind="streams"))
    assert SECRET not in door.text.decode() and door.found["suspicious"]
    for at, line in enumerate(lines_of(door)):
        assert line.count("\n") == lines[at].count("\n")
        assert "tag-" not in line or line.startswith(f"tag-{at}-")
