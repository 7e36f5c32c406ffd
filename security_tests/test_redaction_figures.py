"""How much redaction finds and how little it harms, measured on a labelled corpus that shares nothing with its rules."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubescript import redaction
from security_tests.redaction import corpus, engine, judge, report
from security_tests.redaction.sheet import Document
from tests.kit import cases

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]
PARTS = {
    "main": corpus.main,
    "held out": corpus.held_out,
    "third": corpus.third,
    "grammar": corpus.grammar,
    "fourth": corpus.fourth,
    "fifth": corpus.fifth,
    "sixth": corpus.sixth,
    "ordinary": corpus.ordinary,
}
LIMITS = {
    "main": (0.99, 0.001),
    "held out": (0.993, 0.001),
    "third": (0.987, 0.001),
    "grammar": (0.985, 0.001),
    "fourth": (0.957, 0.005),
    "fifth": (0.94, 0.005),
    "sixth": (0.93, 0.005),
    "ordinary": (0.99, 0.004),
}
"""Least recall, and most harm, of each part. The held-out figures began with what the rules do to forms that their author had not
seen; they are published as they are. The third part's was 0.9921 until the rules became rows: `p == "…"` of Ruby and a
passphrase of four words behind a bare name went with rules that masked ordinary sentences."""


def everything() -> tuple[Document, ...]:
    """Every document of every part."""
    return tuple(document for part in PARTS.values() for document in part())


@pytest.fixture(scope="module", params=PARTS)
def part(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def figures(part: str) -> report.Figures:
    return report.measure(PARTS[part]())


@pytest.mark.promise("S-01", "S-02")
def test_the_corpus_is_what_it_must_be(attacks: Count) -> None:
    """At least 1,000 secrets of 100 kinds and 5,000 look-alikes."""
    attacks(0)
    main = corpus.main()
    secrets = [secret for one in main for secret in one.secrets]
    assert len(secrets) >= 1_000 and len({secret.kind for secret in secrets}) >= 100
    assert sum(len(one.lookalikes) for one in main) >= 5_000


@pytest.mark.promise("S-01", "S-02")
@cases.each(
    ("held_out", "secrets", "forms", "lookalikes"),
    [
        ("held out", 150, 60, 800),
        ("third", 700, 400, 3_500),
        ("fourth", 580, 360, 3_800),
        ("fifth", 600, 200, 5_000),
        ("sixth", 600, 200, 5_000),
    ],
)
def test_the_held_out_parts_are_large_enough(
    held_out: str, secrets: int, forms: int, lookalikes: int, attacks: Count
) -> None:
    """What was held out has at least 150 secrets in 60 forms and 800 look-alikes; the third part 700 in 400 and 3,500,
    the fourth 580 in 360 and 3,800, the fifth and the sixth 600 in 200 and 5,000."""
    attacks(0)
    planted = [secret for one in PARTS[held_out]() for secret in one.secrets]
    assert len(planted) >= secrets and len({(one.kind, one.spot) for one in planted}) >= forms
    assert sum(len(one.lookalikes) for one in PARTS[held_out]()) >= lookalikes


@pytest.mark.promise("S-01", "S-02")
def test_the_judge_can_say_no(attacks: Count) -> None:
    """Unmasked, every secret of the corpus counts as leaked; with everything masked, every look-alike as harmed."""
    attacks(0)
    for document in everything():
        verdict = judge.judge(document, document.body)
        assert [secret for secret in document.secrets if secret not in verdict.leaked] == [], document.name
        assert verdict.harmed == () and verdict.changed == () and verdict.valid, document.name
        assert len(judge.judge(document, b"{}").harmed) == len(document.lookalikes), document.name


@pytest.mark.promise("S-01")
def test_no_secret_of_the_corpus_stands_in_the_repository(attacks: Count) -> None:
    """Every value is made at test time: none is in a file of this repository."""
    attacks(0)
    root = Path(__file__).parent
    sources = "\n".join(
        path.read_text()
        for folder in (root, root.parent / "docs")
        for path in folder.rglob("*.*")
        if path.suffix in {".py", ".md"}
    )
    values = {secret.value for one in everything() for secret in one.secrets if len(secret.value) >= 12}
    assert [value for value in values if value in sources] == []


@pytest.mark.promise("S-01")
def test_secrets_are_masked(part: str, figures: report.Figures, attacks: Count) -> None:
    """Of the planted secrets at least 99 of 100 cannot be read in the masked body, in any encoding; of those in forms that
    nobody had seen, no fewer than published."""
    attacks(figures.secrets)
    print(figures.line)
    assert figures.recall >= LIMITS[part][0], figures.leaks()


@pytest.mark.promise("S-02")
def test_lookalikes_survive(part: str, figures: report.Figures, attacks: Count) -> None:
    """Of the look-alikes, and of all values without a label, at most 1 of 1,000 is changed by a byte; of the held-out
    ones, no more than published."""
    attacks(figures.lookalikes)
    print(figures.line)
    assert figures.harmed / figures.lookalikes <= LIMITS[part][1], figures.harms()
    assert figures.changed / figures.unlabelled <= LIMITS[part][1], [
        text for one in figures.verdicts for text in one.changed
    ]


@pytest.mark.promise("S-04")
def test_json_stays_json(figures: report.Figures, attacks: Count) -> None:
    """Every masked body still is JSON with the same keys in the same places."""
    attacks(len(figures.verdicts))
    assert [one.document.name for one in figures.verdicts if not one.valid] == []


Whole = list[tuple[Document, bytes, Counter[str]]]


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    """Every document, what became of it when it arrived whole, and how many values of each kind were masked. The fifth
    and the sixth part have the fourth's forms."""
    masking, found = engine.fresh(), []
    for document in (one for part in PARTS if part not in {"fifth", "sixth"} for one in PARTS[part]()):
        counts = Counter[str]()
        found.append((document, engine.masked(masking, document, found=counts), counts))
    yield found
    found.clear()


@pytest.mark.promise("S-03")
@pytest.mark.parametrize("seed", ["first", "second"])
def test_pieces_make_no_difference(seed: str, whole: Whole, attacks: Count) -> None:
    """A body that arrives in pieces of any sizes, single bytes among them, comes out as when it arrives whole."""
    attacks(len(whole))
    masking = engine.fresh()
    for document, masked, expected in whole:
        counts = Counter[str]()
        assert engine.masked(masking, document, f"{seed}/{document.name}", counts) == masked, document.name
        assert counts == expected, document.name


@pytest.mark.promise("S-04")
def test_masking_twice_changes_nothing(whole: Whole, attacks: Count) -> None:
    """A masked body has nothing left to mask: masks are not masked again."""
    attacks(len(whole))
    masking, changed = engine.fresh(), set()
    for document, once, _ in whole:
        again = Document(document.name, document.path, once, (), (), document.query, document.accept, document.form)
        if engine.masked(masking, again) != once:
            changed.add(document.name)
    assert changed == set()


LONG = (
    "docker login -u AWS -p {} 1234.dkr.ecr.example.com", "mysql -u root -p{} shop", "sshpass -p {} ssh h", "redis-cli -a {} ping",
    "curl -u ci:{} https://x", "kubectl create secret generic x --from-literal=a={} -o yaml", "rabbitmqctl add_user bob {}",
    "ldapsearch -w {} -x", "db_password={} port=1", "--password {} x", "Authorization: Bearer {}", "postgres://u:{}@pg:5432/db",
    "u:{}@tcp(db:3306)/x", "jdbc:oracle:thin:u/{}@h:1521", "https://x/y?sig={}&a=b", "<password>{}</password>",
    '<add key="Password" value="{}"/>', 'setPassword("{}")', "define('DB_PASSWORD', '{}');", "machine h login u password {}",
    "pg:5432:db:u:{}", "the password is {} now", "session_key={} x", 'x-api-key "{}"', "echo 'root:{}' | chpasswd", "glpat-{} x",
    "IDENTIFIED BY '{}';", "set-cookie: sid={}; Path=/", "---> PASS {}", "AUTH PLAIN {}", "'password': ['{}']",
)  # fmt: skip


@pytest.mark.promise("S-01", "S-04")
@cases.each("size", [60, 150, 350, 2_000, 4_000, 4_090, 4_100, 9_000, 20_000, 70_000])
def test_a_value_is_masked_whole(size: int, attacks: Count) -> None:
    """However long a value is, no part of it stays readable, in any notation; and its mask is not masked again."""
    attacks(len(LONG))
    masking = engine.fresh()
    for form in LONG:
        chance = random.Random(f"{size} {form}")
        value = "".join(chance.choice("ABCDEFGHKLMNPQRSTUVWXYZabcdefghikmnopqrstuvwxyz23456789") for _ in range(size))
        once = masking.text(form.format(value), lambda kind: None)
        assert [at for at in range(0, size - 12, 4) if value[at : at + 12] in once] == [], form
        assert masking.text(once, lambda kind: None) == once, form


@pytest.mark.promise("S-02")
@cases.each(
    "text",
    [
        '{"secrets": "policy.denied_resource", "token": "system:serviceaccount:default:reader"}',
        "token = create_token(user, secret=settings.SECRET_KEY)",
        "token=${API_TOKEN:?must be set}",
        "password: '%env(DB_PASSWORD)%'",
        "login.password=Passwort",
    ],
)
def test_what_is_no_value_survives(text: str, attacks: Count) -> None:
    """Code, references, translations, identities and what became of a list of secrets are answers, and stay."""
    attacks(1)
    assert engine.fresh().text(text, lambda kind: None) == text


def masks(masking: redaction.Engine, value: str) -> set[str]:
    """The masks that a password gets in three places."""
    found = set()
    for spot in ("env", "log", "config"):
        document = _planted(spot, value)
        found |= {match[0] for match in judge.MASK.finditer(engine.masked(masking, document).decode())}
    return found


def _planted(spot: str, value: str) -> Document:
    if spot == "log":
        text = f"db_password={value} port=5432\n".encode()
        return Document(
            spot, ("api", "v1", "namespaces", "shop", "pods", "web-0", "log"), text, (), (), accept="text", form="text"
        )
    inner = (
        f'"data":{{"app.env":"DB_PASSWORD={value}\\n"}}'
        if spot == "config"
        else f'"spec":{{"containers":[{{"env":[{{"name":"DB_PASSWORD","value":"{value}"}}]}}]}}'
    )
    plural = "configmaps" if spot == "config" else "pods"
    body = f'{{"metadata":{{"name":"x"}},{inner}}}'.encode()
    return Document(spot, ("api", "v1", "namespaces", "shop", plural, "x"), body, (), ())


@pytest.mark.promise("S-06")
def test_masks_compare_as_values_do(attacks: Count) -> None:
    """A value has one mask wherever it stands, another value another; a second server's masks share nothing with them."""
    attacks(4)
    masking = engine.fresh()
    mask = masks(masking, "maple" + "77341")
    assert len(mask) == 1
    assert masks(masking, "maple" + "77342") & mask == set()
    assert masks(engine.fresh(b"another"), "maple" + "77341") & mask == set()
    assert masks(engine.fresh(None), "maple" + "77341") & masks(engine.fresh(None), "maple" + "77341") == set()


@pytest.mark.promise("S-01", "S-02")
def test_the_published_figures_are_todays(attacks: Count) -> None:
    """docs/redaction-figures.md is what `python -m security_tests.redaction --write` writes."""
    attacks(0)
    assert report.PAGE.read_text() == report.page()
