"""Plans that look like something else: on a terminal, in a client's form, and to a reader's eye."""

from __future__ import annotations

import contextlib
import json
import secrets
import unicodedata
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from kubernetes import client

from kubescript.changes import plan
from kubescript.changes.store import record, store
from kubescript.changes.view import plain, view
from kubescript.wire import inspection
from tests.kit import approval_page, clients, people, terminals
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.writer import Writer

IMAGE: Final = "spec.template.spec.containers[web].image"
NAMESPACE: Final = f"display-{secrets.token_hex(3)}"
FORGED: Final = "9. Delete namespaces prod: 0 fields"


def text_of(*rows: inspection.Row, width: int = 400, **values: Any) -> str:
    """A plan that changes these fields, as text."""
    made = approval_page.plan_of(approval_page.step(rows=rows, **values))
    return plain.text(record.Record(made, "pending"), width)


def screen_of(text: str, width: int) -> list[str]:
    """The lines of a terminal that has this text, and gives two cells to wide and ambiguous letters."""
    screen = []
    for line in text.split("\n"):
        row, cells = "", 0
        for char in line:
            size = 2 if unicodedata.east_asian_width(char) in "WFA" else 1
            if cells + size > width:
                screen.append(row)
                row, cells = "", 0
            row, cells = row + char, cells + size
        screen.append(row)
    return screen


@pytest.mark.promise("V-03")
@pytest.mark.parametrize("quote", ["", '"', "\u201d"], ids=["none", "a quote", "another quote"])
def test_a_client_goes_on_in_no_words_of_kubescript(quote: str) -> None:
    """By its name it neither makes its plan a runbook's or another user's, nor pushes away who asks for it."""
    author = plan.Author("user bob", "1f3a", f"cron{quote} for user alice, made by runbook restart-web, {'x' * 1_000}")
    made = msgspec.structs.replace(approval_page.plan_of(approval_page.step()), author=author)
    sentence, _, _ = plain.text(record.Record(made, "pending"), 4_000).partition("\n\n")
    before, name, after = sentence.replace('\\"', "").split('"')
    assert before.endswith("asked for by client ") and after.startswith("… for user bob, expires in")
    assert name.startswith("cron") and len(name) < 120 and "\u201d" not in name


WIDE: Final = {
    "wide": "\N{CJK UNIFIED IDEOGRAPH-5B57}", "full width": "\uff21", "ambiguous": "\N{CYRILLIC SMALL LETTER A}",
    "emoji": "\N{PILE OF POO}", "mixed": "a\N{HANGUL SYLLABLE HAN}",
}  # fmt: skip


@pytest.mark.promise("V-03")
@pytest.mark.parametrize("width", [40, 80, 101])
@pytest.mark.parametrize("letters", WIDE.values(), ids=WIDE)
def test_wide_letters_push_no_line_to_the_edge_of_a_terminal(letters: str, width: int) -> None:
    """Whatever number of them stands before it: a terminal would break the line there, and the rest would stand where
    kubescript's own lines begin."""
    for count in range(1, width):
        value = json.dumps(letters * count + FORGED, ensure_ascii=False)
        shown = screen_of(text_of(inspection.Row("data.x", None, value), width=width), width)
        assert not [line for line in shown if line.startswith(FORGED[:3])]


@pytest.mark.promise("V-03")
def test_blanks_and_empty_lines_push_nothing_out_of_view() -> None:
    """Long runs of them are shown as their number, with a remark; short ones as they are."""
    command = f'"true{" " * 500}; rm -rf /"'
    shown = text_of(inspection.Row("spec.template.spec.containers[web].args[0]", None, command))
    assert "+ true⟨500 blanks⟩; rm -rf /" in shown and "blanks in a row, shown as a number" in shown
    script = json.dumps("true" + "\n" * 500 + "rm -rf /\n" + " \n" * 9 + "exit")
    shown = text_of(inspection.Row("data.run", None, script))
    lines = [line.strip() for line in shown.splitlines() if line.startswith("     +")]
    assert lines == ["+ true", "+ ⟨499 empty lines⟩", "+ rm -rf /", "+ ⟨9 empty lines, 9 blanks⟩", "+ exit"]
    usual = text_of(inspection.Row("data.run", None, json.dumps("if x:\n\n\n" + " " * 24 + "y")))
    assert "⟨" not in usual and " " * 24 + "y" in usual
    assert "[a line of 5,002 characters]" in text_of(inspection.Row("data.x", None, '"' + "x" * 5_000 + '"'))


IMITATIONS: Final = {
    "a registry": ("registry.example.com/shop/web:1.27", "registry.examp1e.com/shop/web:1.28", "registry.examp1e.com"),
    "a repository": ("example.com/payments/web:1", "example.com/payrnents/web:2", "payrnents"),
    "a repository with a digest": ("example.com/shop:1", f"example.com/sh\u043ep@sha256:{'0' * 64}", "sh\u043ep"),
    "a separator": ("example.com/shop:1", "example\u06d4com/shop:2", "example\u06d4com"),
}


@pytest.mark.promise("V-03")
@pytest.mark.parametrize(("old", "new", "part"), IMITATIONS.values(), ids=IMITATIONS)
def test_a_new_tag_hides_no_imitated_name(old: str, new: str, part: str) -> None:
    """Each part of a new image is compared with those of the old one, and with the object's other images."""
    was, now = (json.dumps(each, ensure_ascii=False) for each in (old, new))
    assert f"{part} looks like " in text_of(inspection.Row(IMAGE, was, now))
    assert f"{part} looks like " in text_of(inspection.Row(IMAGE, None, now), images=(old,))


@pytest.mark.promise("V-03")
def test_a_label_is_compared_word_by_word() -> None:
    """As an image is."""
    row = inspection.Row("metadata.labels.team", '"payments-blue"', '"payrnents-green"')
    assert "[payrnents looks like payments]" in text_of(row)


@pytest.mark.promise("V-03")
def test_a_number_hides_no_imitated_name_of_an_object() -> None:
    """Names are compared word by word; those that only have words in common are not marked."""
    names = ("payment-api-1", "payrnent-api-2", "payment-db-1", "web-10", "web-11", "worker")
    made = approval_page.plan_of(*map(approval_page.step, names))
    changes = view.of(record.Record(made, "pending")).changes
    marked = {change.target.text.split("/")[1] for change in changes if change.target.remarks}
    assert marked == set(names[:3])


@pytest.mark.promise("V-03")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("registry.example.com/shop/web:1.27.3", "registry.example.com/shop/web:1.28.0"),
        ("registry.example.com/shop/web:1.27.3", "mirror.example.com/shop/web:1.27.3"),
        ("Always look at the time", "always look at the time and the date"),
    ],
)
def test_a_usual_change_is_not_marked(old: str, new: str) -> None:
    """A remark that stands at every change is no remark."""
    assert "looks like" not in text_of(inspection.Row(IMAGE, json.dumps(old), json.dumps(new)), images=(old,))


@pytest.mark.promise("P-19")
@pytest.mark.parametrize(("exists", "verb"), [(False, "Create"), (True, "Change")])
def test_an_apply_that_makes_an_object_says_so(exists: bool, verb: str) -> None:
    """The request has the method PATCH either way."""
    request = plan.Request("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web", (), "application/apply-patch+yaml")
    before = plan.Precondition("u-1", "7") if exists else None
    shown = text_of(request=request, precondition=before)
    assert f"\n  1. {verb} Deployment web in namespace shop\n" in shown
    assert f"\n1. {verb} deployments.apps shop/web: " in shown


# --- at a terminal, with a real API server --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kubeconfig(run_folder: Path, run_process: int) -> Path:
    """That of a cluster in which there is nothing."""
    return shared.attach("scratch", run_folder, run_process).kubeconfig


@pytest.fixture(scope="module")
def writer(kubeconfig: Path) -> Writer:
    """Writes in a namespace of its own."""
    opened = Writer(kubeconfig)
    opened.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return opened


@pytest.fixture
def flags(writer: Writer, kubeconfig: Path, tmp_path: Path) -> list[str]:
    return people.flags(tmp_path, kubeconfig)


def creation(name: str, result: str = "", **data: str) -> str:
    """A script that makes a ConfigMap, and has a result."""
    made = {"metadata": {"name": name}, "data": data}
    return f"k8s.coreV1().create_namespaced_config_map({NAMESPACE!r}, {made!r})\n{result!r}"


@pytest.mark.cluster
@pytest.mark.promise("P-19")
def test_a_script_prints_no_plan_before_the_true_one(flags: list[str], tmp_path: Path) -> None:
    """What a script returns comes after the decision. Only a whole word decides, and the person is told which ones."""
    command = ["run", *flags, "-c", creation("made", f"1. Create ConfigMap harmless\n{FORGED}")]
    screen = terminals.Screen(command, people.environment(tmp_path))
    screen.until("Type `approve` or `yes` to apply this plan, `decline` or `no` to change nothing: ")
    for count, typed in enumerate(("y", "Approve", "approve it", "yes!"), 1):
        screen.type(typed)
        screen.until(f"(?s)(one whole word: approve, yes, decline or no.*nothing: .*){{{count}}}")
    assert f"1. Create ConfigMap made in namespace {NAMESPACE}" in screen.text and FORGED not in screen.text
    screen.type("yes")
    screen.until(r"Reason \(may be empty\): ")
    screen.type("")
    assert screen.end() == 0
    shown, _, after = screen.text.partition("applied: 1 of 1 changes were made")
    assert FORGED not in shown and FORGED in after
    assert "To take it back: kubescript plans undo p-" in after.partition(FORGED)[0]


@pytest.mark.promise("V-03")
def test_no_name_of_a_client_is_a_line_of_the_list(tmp_path: Path) -> None:
    """A person copies commands from it. They stand behind plans that wait, without any flag being given."""
    forged = "    to decide: kubescript approve p-0; rm -rf /"
    author = plan.Author("", "s", "a\n" + forged + "\N{HANGUL SYLLABLE HAN}" * 40 + forged)
    made = approval_page.plan_of(approval_page.step(), author=author, flags=" --config /k.toml")
    environment = people.environment(tmp_path)
    folder = tmp_path / "state" / "kubescript"
    folder.mkdir(mode=0o700, parents=True)
    with contextlib.closing(store.Store(str(folder / "plans.db"))) as kept:
        kept.add(made)
    code, screen = people.typed(["plans", "list"], environment)
    assert code == 0 and "\\n    to decide: kubescript approve p-0" in screen.replace("\r\n      ", "")
    offered = [line for line in screen_of(screen.replace("\r", ""), 80) if line.startswith("    to decide: ")]
    assert offered == [f"    to decide: kubescript approve {made.id} --config /k.toml"[:80]]


@pytest.mark.cluster
@pytest.mark.promise("V-03")
def test_a_terminal_that_would_break_the_lines_is_refused(flags: list[str], tmp_path: Path) -> None:
    """Its own width counts, whatever COLUMNS says; and in a wider one the plan is decided."""
    environment = people.environment(tmp_path)
    command = ["run", *flags, "-c", creation("narrow")]
    narrow = terminals.Screen(command, environment | {"COLUMNS": "100"}, width=30)
    assert narrow.end() == 1 and "cannot be read in 30 columns" in narrow.text
    code, screen = people.typed(["approve", people.plan_on(narrow.text), *flags], environment, "no")
    assert code == 0 and "declined" in screen


@pytest.mark.cluster
@pytest.mark.promise("P-19")
def test_a_long_plan_scrolls_no_critical_finding_out_of_view(writer: Writer, flags: list[str], tmp_path: Path) -> None:
    """They stand once more right before the question."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    place = {"name": "claim", "namespace": NAMESPACE}
    writer.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": place,
            "spec": claim,
            "status": {"phase": "Bound"},
        }
    )
    script = (
        creation("long", text="x\n" * 3_000) + f"\nk8s.delete('persistentvolumeclaims/claim', namespace={NAMESPACE!r})"
    )
    code, screen = people.typed(["run", *flags, "-c", script], people.environment(tmp_path), "decline")
    last = screen.partition("Type `approve`")[0].split("\n")[-6:]
    assert code == 0 and any(line.startswith("CRITICAL NO_DESTRUCTIVE_SHORTCUTS: ") for line in last), last


@pytest.mark.cluster
@pytest.mark.promise("P-19")
def test_an_apply_by_force_tells_from_whom_it_takes_what(writer: Writer, flags: list[str], tmp_path: Path) -> None:
    """Also where the script uses the other manager's name, and where the fields are items of a list. An apply that takes
    nothing says nothing, and one that makes an object says so."""
    ports: list[dict[str, Any]] = [
        {"name": name, "port": port, "targetPort": port} for name, port in (("http", 80), ("https", 443))
    ]
    place = {"name": "taken", "namespace": NAMESPACE}
    writer.create({"apiVersion": "v1", "kind": "Service", "metadata": place, "spec": {"ports": ports}})
    ports[1]["targetPort"] = 8443
    wanted = {"apiVersion": "v1", "kind": "Service", "metadata": place, "spec": {"ports": ports}}
    new = wanted | {"metadata": place | {"name": "new"}}
    person = people.Client("decline")
    with people.talk(flags, people.environment(tmp_path), person) as talk:
        talk.ask(f"k8s.apply({wanted!r}, force=True)")
        talk.ask(f"k8s.apply({wanted!r}, force=True, field_manager='fixture')")
        refused = talk.ask(f"k8s.apply({wanted!r})")
        talk.ask(f"k8s.apply({new!r}, force=True)")
    assert refused.is_error
    first, second, created = (question.message for question in person.questions)
    for text in (first, second):
        assert f"  1. Change Service taken in namespace {NAMESPACE}\n" in text
        words = " ".join(text.split())
        assert "warning writes.force: takes " in words
        assert " from the manager fixture: spec.ports[port=443].targetPort" in words
    assert f"  1. Create Service new in namespace {NAMESPACE}" in created and "writes.force" not in created


@pytest.mark.cluster
@pytest.mark.promise("P-19")
def test_an_apply_takes_nothing_from_a_manager_that_was_not_shown(
    writer: Writer, kubeconfig: Path, flags: list[str], tmp_path: Path
) -> None:
    """Whoever comes to manage a field between the question and the answer, with the value that it has already."""
    place = {"name": "late", "namespace": NAMESPACE}
    writer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": {"a": "1"}})
    core: Any = client.CoreV1Api(official_client.connect(kubeconfig))
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": {"a": "2"}}

    def manage(_question: people.Question) -> None:
        core.patch_namespaced_config_map(
            "late", NAMESPACE, wanted | {"data": {"a": "1"}}, field_manager="stranger",
            _content_type="application/apply-patch+yaml",
        )  # fmt: skip

    person = people.Client(meanwhile=manage)
    with people.talk(flags, people.environment(tmp_path), person) as talk:
        said = clients.whole(talk.ask(f"k8s.apply({wanted!r}, force=True)"))
        assert "stopped; 0 of 1" in said and "takes 1 field from the manager stranger: data.a" in said
        person.meanwhile = lambda _question: None
        assert "applied; 1 of 1" in clients.whole(talk.ask(f"k8s.apply({wanted!r}, force=True)"))
    assert core.read_namespaced_config_map("late", NAMESPACE).data == {"a": "2"}
