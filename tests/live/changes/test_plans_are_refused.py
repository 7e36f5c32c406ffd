"""A plan whose approval does not count, or no longer, changes nothing, by the API server's own audit log; and the next
call works."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from kubescript_safety.controlplane.commands import ADDRESS
from tests.kit import clients, patience, people, rollouts, visitor
from tests.kit.controlplane import logged, rights
from tests.kit.controlplane.writer import Writer

pytestmark = pytest.mark.timeout(300)

RBAC: Final = "rbac.authorization.k8s.io"
MODERN: Final = "2026-07-28"
PLANS: Final = "[plans]\nfollow_s = 0\n"
"""Nothing rolls out here."""
SHORT: Final = PLANS + "expires_s = 20\n"
"""As long as a plan, its question and its page may take, and no longer: a test waits for the end."""
IMPATIENT: Final = PLANS + "ask_s = 1\n"
TWO_PEOPLE: Final = IMPATIENT + '[[write_policy.approvals]]\nnamespaces = ["shop-*"]\ncount = 2\n'
ALONE: Final = "it needs the approval of 2 other people"
OTHER_POLICY: Final = "[write_policy]\nreplicas = [0, 10]\n"


@pytest.fixture(scope="module")
def plane(run_folder: Path, run_process: int) -> logged.Logged:
    return logged.attach(run_folder, run_process)


def opened(plane: logged.Logged) -> rollouts.Shop:
    made = rollouts.Shop(plane)
    made.open()
    return made


@pytest.fixture(scope="module")
def ours(plane: logged.Logged) -> rollouts.Shop:
    """A shop in which no plan is applied."""
    return opened(plane)


@pytest.fixture
def fresh(plane: logged.Logged) -> rollouts.Shop:
    """A shop in which one is."""
    return opened(plane)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plans")


@pytest.fixture(scope="module")
def flags(folder: Path, ours: rollouts.Shop) -> list[str]:
    return people.flags(folder, ours.kubeconfig, PLANS)


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    return people.environment(folder)


@pytest.fixture(scope="module")
def server(flags: list[str], environment: dict[str, str]) -> Iterator[people.Server]:
    with people.server(flags, environment) as made:
        yield made


@pytest.fixture(scope="module")
def flags_for_two(tmp_path_factory: pytest.TempPathFactory, ours: rollouts.Shop) -> list[str]:
    """A plan takes two people, and a question waits for a second."""
    return people.flags(tmp_path_factory.mktemp("two"), ours.kubeconfig, TWO_PEOPLE)


@pytest.fixture(scope="module")
def server_for_two(flags_for_two: list[str], environment: dict[str, str]) -> Iterator[people.Server]:
    with people.server(flags_for_two, environment) as made:
        yield made


@pytest.fixture(scope="module")
def silent(server: people.Server) -> Iterator[people.Talk]:
    """A client that can ask nobody."""
    with server.talk() as opened:
        yield opened


@pytest.fixture(scope="module")
def person() -> people.Client:
    return people.Client()


@pytest.fixture(scope="module")
def earlier(server: people.Server, person: people.Client) -> Iterator[people.Talk]:
    """A client of 2025-11-25, with a person."""
    with server.talk(person) as opened:
        yield opened


@pytest.fixture(scope="module")
def later(server: people.Server, person: people.Client) -> Iterator[people.Talk]:
    """A client of 2026-07-28, with a person."""
    with server.talk(person, MODERN) as opened:
        yield opened


@pytest.fixture(params=["earlier", "later"])
def talk(request: pytest.FixtureRequest) -> people.Talk:
    """Either of them."""
    found: people.Talk = request.getfixturevalue(request.param)
    return found


@pytest.fixture(autouse=True)
def _approves(person: people.Client) -> Iterator[None]:
    """Unless a test says otherwise, the person approves at once."""
    yield
    person.decision, person.meanwhile = "approve", lambda _question: None


def check_works(talk: people.Talk, ours: rollouts.Shop) -> None:
    """Fails unless the next script is answered."""
    counted = f"len(k8s.appsV1().list_namespaced_deployment('{ours.namespace}'))"
    assert clients.text(talk.ask(counted)).partition("\n")[0] == "4"


def see(page: visitor.Visitor, server: people.Server, plan: str, heading: str) -> str:
    """Waits until a plan's page has this heading; returns all that is on it."""
    deadline = time.monotonic() + patience.scaled(60)
    while True:
        shown = page.get(server.address(server.kept(plan).plan)).page
        if f"{heading} " in shown.words:
            return shown.words
        assert time.monotonic() < deadline, shown.words
        time.sleep(0.05)


# --- an object is not as it was shown ---------------------------------------------------------------------------------


def set_image(ours: rollouts.Shop) -> None:
    """Somebody else sets another image in a later object of the release."""
    container = {"name": "worker", "image": f"worker:{time.time_ns()}"}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    ours.apps.patch_namespaced_deployment("worker", ours.namespace, patch)


def scale(ours: rollouts.Shop) -> None:
    """Somebody else scales the first object of the release."""
    replicas = ours.deployment("web").spec.replicas + 2
    ours.apps.patch_namespaced_deployment_scale("web", ours.namespace, {"spec": {"replicas": replicas}})


def label(ours: rollouts.Shop) -> None:
    """Somebody else puts a label on what is to go."""
    patch = {"metadata": {"labels": {"keep": str(time.time_ns())}}}
    ours.batch.patch_namespaced_job("migrate", ours.namespace, patch)


CHANGES: Final[dict[str, tuple[Callable[[rollouts.Shop], object], str]]] = {
    "other replicas in the first object": (
        scale,
        r"web has changed since the plan was made: the request would now change spec\.replicas: \d → 3",
    ),
    "another image in a later object": (set_image, "worker has changed since the plan was made"),
    "an object that was deleted and made again": (lambda ours: ours.recreate("cache"), "another object of that name"),
    "a label on what is to go": (label, "migrate has changed since the plan was made"),
}
"""What somebody else does while the question is on the screen, and what the model reads then."""


@pytest.mark.parametrize("case", CHANGES)
def test_nothing_is_sent_once_an_object_has_changed(
    case: str, ours: rollouts.Shop, talk: people.Talk, person: people.Client
) -> None:
    """Not even to the objects before it: what was approved is all of it, as it was shown."""
    change, words = CHANGES[case]
    states: list[Any] = []

    def meanwhile(_question: people.Question) -> None:
        change(ours)
        states.append(ours.state())

    person.meanwhile = meanwhile
    answer = talk.ask(ours.release)
    said = clients.text(answer)
    assert answer.is_error and "0 of 5 changes were made" in said and re.search(words, said), said
    assert states == [ours.state()]
    check_works(talk, ours)


def test_nor_once_an_object_is_gone(fresh: rollouts.Shop, earlier: people.Talk, person: people.Client) -> None:
    states: list[Any] = []

    def meanwhile(_question: people.Question) -> None:
        fresh.batch.delete_namespaced_job("migrate", fresh.namespace, propagation_policy="Background")
        states.append(fresh.state())

    person.meanwhile = meanwhile
    answer = earlier.ask(fresh.release)
    assert answer.is_error and "0 of 5 changes were made" in clients.text(answer)
    assert states == [fresh.state()]
    check_works(earlier, fresh)


def test_nor_at_the_terminal(
    ours: rollouts.Shop, silent: people.Talk, flags: list[str], environment: dict[str, str]
) -> None:
    plan = silent.plan(ours.release)
    set_image(ours)
    with ours.unchanged():
        code, screen = people.at_terminal(plan, flags, environment)
    ending = " ".join(screen.split())  # the terminal's lines are folded
    assert code == 1 and "stopped: plan.changed: " in ending and "0 of 5 changes were made" in ending
    check_works(silent, ours)


def test_nor_on_the_page(ours: rollouts.Shop, server: people.Server, silent: people.Talk) -> None:
    plan = silent.plan(ours.release)
    set_image(ours)
    with ours.unchanged():
        page = visitor.Visitor(server)
        assert page.decide(server.kept(plan).plan, "approve").status == 303
        assert "0 of 5 changes were made" in see(page, server, plan, "Stopped before its end")
    check_works(silent, ours)


# --- the call is another ----------------------------------------------------------------------------------------------


def test_an_approval_is_for_the_script_that_was_shown(ours: rollouts.Shop, later: people.Talk) -> None:
    """The state of its question, sent with another script, or changed, is refused."""
    with ours.unchanged():
        question = later.begin(ours.release)
        assert question.request_state is not None
        with pytest.raises(MCPError, match="requestState"):
            later.resume(f"{ours.release} + '!'", question)
        forged = question.model_copy(update={"request_state": question.request_state[:-4] + "AAAA"})
        with pytest.raises(MCPError, match="requestState"):
            later.resume(ours.release, forged)
        check_works(later, ours)


def test_an_approval_is_for_the_session_that_asked(
    ours: rollouts.Shop, later: people.Talk, flags: list[str], environment: dict[str, str]
) -> None:
    """Two clients' servers share their plans; the state of one's question is worth nothing at the other."""
    with people.talk(flags, environment, people.Client(), MODERN, "stdio") as other, ours.unchanged():
        question = later.begin(ours.release)
        with pytest.raises(MCPError, match="requestState"):
            other.resume(ours.release, question)
        check_works(other, ours)
        assert "declined" in clients.text(later.resume(ours.release, question, "decline"))


def test_what_became_of_a_plan_is_told_to_its_own_session(
    ours: rollouts.Shop, earlier: people.Talk, flags: list[str], environment: dict[str, str]
) -> None:
    with people.talk(flags, environment, transport="stdio") as silent, ours.unchanged():
        plan = silent.plan(ours.release)
        code, _ = people.at_terminal(plan, flags, environment, "decline")
        assert code == 0
        assert plan not in clients.whole(earlier.ask("1 + 1"))
        assert f"plan {plan}: declined" in clients.text(silent.ask("1 + 1"))


# --- it is too late ---------------------------------------------------------------------------------------------------


def test_nothing_is_sent_once_the_plan_has_expired(
    ours: rollouts.Shop, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The person at a client of either era is told, and whoever looks at a terminal; and a page that was open before
    does not have it applied."""
    flags = people.flags(tmp_path, ours.kubeconfig, SHORT)
    with people.server(flags, environment) as server, ours.unchanged():

        def expire(_question: people.Question) -> None:
            while server.newest().state != "expired":
                time.sleep(0.1)

        with server.talk(people.Client(meanwhile=expire)) as earlier, server.talk(people.Client(), MODERN) as later:
            question = later.begin(ours.release)
            asked = server.newest().plan
            page = visitor.Visitor(server)
            form = page.open(asked).page.hidden_fields
            answers = {"legacy": earlier.ask(ours.release), MODERN: later.resume(ours.release, question)}
            for mode, answer in answers.items():
                assert answer.is_error and "has expired, and nothing of it was sent" in clients.text(answer), mode
                code, screen = people.at_terminal(people.plan_in(answer), flags, environment)
                assert code == 1 and "Expired: nothing was changed" in screen, mode
            assert "has expired" in page.post(asked, {**form, "decision": "approve"}).page.words
            assert "Expired: nothing was changed" in page.get(server.address(asked)).page.words
            check_works(earlier, ours)
            check_works(later, ours)


def test_a_plan_is_applied_once(fresh: rollouts.Shop, later: people.Talk) -> None:
    """The same approval, sent again, changes nothing more, and tells the end again."""
    question = later.begin(fresh.release)
    assert "applied; 5 of 5 changes were made" in clients.text(later.resume(fresh.release, question))
    with fresh.unchanged():
        answer = later.resume(fresh.release, question)
        assert not answer.is_error and "applied; 5 of 5 changes were made" in clients.text(answer)
        check_works(later, fresh)
    assert fresh.written() == list(rollouts.WRITES)


def test_nor_again_at_the_terminal_or_on_a_page_that_is_still_open(
    fresh: rollouts.Shop, server: people.Server, silent: people.Talk, flags: list[str], environment: dict[str, str]
) -> None:
    plan = silent.plan(fresh.release)
    shown = server.kept(plan).plan
    page = visitor.Visitor(server)
    form = page.open(shown).page.hidden_fields
    code, _ = people.at_terminal(plan, flags, environment)
    assert code == 0
    with fresh.unchanged():
        assert "is applied already" in page.post(shown, {**form, "decision": "approve"}).page.words
        assert "Applied " in page.get(server.address(shown)).page.words
        code, screen = people.at_terminal(plan, flags, environment)
        assert code == 1 and "Applied" in screen
        check_works(silent, fresh)
    assert fresh.written() == list(rollouts.WRITES)


# --- whoever decides does not approve, or may not ---------------------------------------------------------------------


def test_nothing_is_sent_under_another_policy(
    ours: rollouts.Shop, silent: people.Talk, tmp_path: Path, flags: list[str], environment: dict[str, str]
) -> None:
    """The policy for writes that a plan was made under is the one under which it is applied. An approval under another
    does not count, and the plan waits."""
    others = people.flags(tmp_path, ours.kubeconfig, PLANS + OTHER_POLICY)
    with ours.unchanged():
        plan = silent.plan(ours.release)
        code, screen = people.at_terminal(plan, others, environment)
        assert code == 1 and "the policy for writes has changed since the plan was made" in screen
        code, screen = people.at_terminal(plan, flags, environment, "decline")
        assert code == 0 and "approved by" not in screen
        check_works(silent, ours)


def of_a_maker(plane: logged.Logged, namespace: str, folder: Path) -> Path:
    """A kubeconfig of somebody who may make ConfigMaps in one namespace, and do nothing else."""
    writer, where = Writer(plane.plane.kubeconfig), {"name": "maker", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"]}]
    writer.create({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": where, "rules": rules})
    writer.create({
        "apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": where,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "maker"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "maker"}],
    })  # fmt: skip
    rights.wait(plane.plane.kubeconfig, "maker", "create", "configmaps", namespace=namespace)
    file = folder / "kubeconfig"
    file.write_text(plane.plane.kubeconfig_for("maker").read_text())
    return file


def test_nothing_is_sent_once_the_context_points_elsewhere(
    plane: logged.Logged, ours: rollouts.Shop, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Also for a user who may not read kube-system, by which clusters are told apart: then the address must be the
    same."""
    kubeconfig = of_a_maker(plane, ours.namespace, tmp_path)
    flags = people.flags(tmp_path, kubeconfig, PLANS)
    with people.talk(flags, environment) as silent:
        maps = f"k8s.coreV1().create_namespaced_config_map({ours.namespace!r}, {{'metadata': {{'name': '%s'}}}}).kind"
        elsewhere, here = (silent.plan(maps % name) for name in ("elsewhere", "here"))
    as_it_was = kubeconfig.read_text()
    kubeconfig.write_text(as_it_was.replace(ADDRESS, "localhost"))
    code, screen = people.at_terminal(elsewhere, flags, environment)
    assert code == 1 and "the plan was made for another cluster" in screen, screen
    kubeconfig.write_text(as_it_was)
    code, screen = people.at_terminal(here, flags, environment)
    assert code == 0 and "applied: 1 of 1 changes were made" in screen, screen
    names = {found.metadata.name for found in ours.core.list_namespaced_config_map(ours.namespace).items}
    assert "here" in names and "elsewhere" not in names


def test_nothing_is_sent_when_the_person_declines(
    ours: rollouts.Shop, talk: people.Talk, person: people.Client, flags: list[str], environment: dict[str, str]
) -> None:
    """And nobody can approve it any more."""
    person.decision = "decline"
    with ours.unchanged():
        answer = talk.ask(ours.release)
        assert 'declined by client "mcp"' in clients.text(answer)
        assert "as agreed; nothing was changed" in clients.text(answer)
        code, screen = people.at_terminal(people.plan_in(answer), flags, environment)
        assert code == 1 and "Declined: nothing was changed" in screen
        check_works(talk, ours)


def test_nothing_is_sent_when_nobody_answers_in_time(
    ours: rollouts.Shop, tmp_path: Path, environment: dict[str, str]
) -> None:
    """An approval that comes after the call has ended does not count."""
    flags = people.flags(tmp_path, ours.kubeconfig, IMPATIENT)
    late = threading.Event()
    person = people.Client(meanwhile=lambda _question: sleep(late))
    with people.talk(flags, environment, person) as talk, ours.unchanged():
        answer = talk.ask(ours.release)
        assert "nobody answered; nothing was changed" in clients.text(answer)
        late.set()
        for _ in range(3):  # the approval has come before the last of them
            check_works(talk, ours)


def sleep(until: threading.Event) -> None:
    assert until.wait(100)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_nothing_is_sent_for_a_client_that_cannot_ask(mode: str, ours: rollouts.Shop, server: people.Server) -> None:
    with server.talk(mode=mode) as talk, ours.unchanged():
        answer = talk.ask(ours.release)
        assert "5 changes wait for a person's approval; nothing is changed yet" in clients.text(answer)
        check_works(talk, ours)


def test_the_author_is_not_one_of_two_approvers(
    fresh: rollouts.Shop, server_for_two: people.Server, flags_for_two: list[str], environment: dict[str, str]
) -> None:
    """Neither at the terminal, nor on the page, nor after one other person. With the approvals of two others, the author
    may have it applied."""
    with server_for_two.talk() as talk:
        plan = talk.plan(fresh.release)
        shown = server_for_two.kept(plan).plan
        with fresh.unchanged():
            code, screen = people.at_terminal(plan, flags_for_two, environment)
            assert code == 1 and ALONE in screen
            page = visitor.Visitor(server_for_two)
            assert ALONE in page.decide(shown, "approve").page.words
            assert "Waits for a decision" in page.get(server_for_two.address(shown)).page.words
            server_for_two.approve(shown, "uid 1001 (bob)")
            code, screen = people.at_terminal(plan, flags_for_two, environment)
            assert code == 1 and ALONE in screen
            check_works(talk, fresh)
        server_for_two.approve(shown, "uid 1002 (eve)")
        code, screen = people.at_terminal(plan, flags_for_two, environment)
        assert code == 0 and "applied: 5 of 5 changes were made" in screen
    assert fresh.written() == list(rollouts.WRITES)


def test_nor_through_the_client(ours: rollouts.Shop, server_for_two: people.Server) -> None:
    """No form is shown, only where to decide."""
    person = people.Client()
    with server_for_two.talk(person) as talk, ours.unchanged():
        answer = talk.ask(ours.release)
        assert "wait for a person's approval; nothing is changed yet" in clients.text(answer)
        check_works(talk, ours)
    assert [type(question) for question in person.questions] == [mcp_types.ElicitRequestURLParams]
