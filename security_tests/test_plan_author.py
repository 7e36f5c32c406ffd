"""A plan of an authenticated caller is sent as its author, with the rights that the author has by now, and as nobody else.
On a real API server."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import anyio
import msgspec
import pytest
from kubernetes import client

from kubescript import app, config, errors, tenant, types
from kubescript.auth import access_rules, user
from kubescript.changes import approval, authors, plan, recovery, work
from kubescript.changes.page import rights
from kubescript.changes.store import record, store
from kubescript.cluster import acting
from tests.kit import fork_servers, unfinished
from tests.kit.controlplane import official_client, shared
from tests.kit.controlplane.writer import Writer

pytestmark = [pytest.mark.cluster, pytest.mark.promise("P-19"), pytest.mark.timeout(300)]

NAMESPACE: Final = f"author-{secrets.token_hex(3)}"
TOKENS: Final = {name: secrets.token_hex(16) for name in ("alice", "bob")}
ALICE: Final = user.User("alice", "tokens_file", "uid-alice", ("payments",))
BOB: Final = user.User("bob", "tokens_file", "uid-bob", ("payments",))
RULES: Final = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "patch"]}]


@dataclass
class Place:
    """Servers of one namespace with one store, in which the users of group `payments` may change ConfigMaps."""

    core: Any
    rbac: Any
    kubeconfig: Path
    namespace: str
    folder: Path
    names: Iterator[int] = field(default_factory=lambda: iter(range(1_000)))

    def write_tokens(self, groups: str = "payments") -> Path:
        """The file of tokens, with these groups of Alice."""
        file = self.folder / "tokens.csv"
        file.write_text(f"{TOKENS['alice']},alice,uid-alice,{groups}\n{TOKENS['bob']},bob,uid-bob,payments\n")
        file.chmod(0o600)
        return file

    def settings(self, acts_as: str = "impersonate", **more: Any) -> config.Settings:
        given: dict[str, Any] = {
            "kubeconfig": self.kubeconfig, "writes": "plan", "transport": "http", "acts_as": acts_as,
            "auth": {"tokens_file": self.folder / "tokens.csv"},
            "plans": {"store": str(self.folder / "state" / "plans.db"), "follow_s": 0},
            "sandbox": {"strict": False},
        }  # fmt: skip
        return config.Settings.model_validate(given | more)

    @contextlib.contextmanager
    def serving(self, acts_as: str = "impersonate", **more: Any) -> Iterator[Server]:
        """A server with these settings."""
        self.write_tokens()
        with fork_servers.open_application(self.settings(acts_as, **more)) as opened:
            yield Server(self, opened)

    def has(self, name: str) -> bool:
        return name in {each.metadata.name for each in self.core.list_namespaced_config_map(self.namespace).items}


@dataclass(frozen=True)
class Server:
    """One replica."""

    place: Place
    application: app.Application

    @property
    def approvals(self) -> Any:
        assert self.application.operator.planning is not None
        return self.application.operator.planning.approvals

    @contextlib.contextmanager
    def seat(self, caller: user.User) -> Iterator[tenant.Tenant]:
        """What a caller gets with the first request."""
        operator = self.application.operator
        reduced = access_rules.reduce(operator.settings, caller)
        own = self.application.tenant(reduced, access_rules.narrow(operator.settings, reduced), operator)
        try:
            yield own
        finally:
            own.close()

    def planned(self, caller: user.User = ALICE) -> Case:
        """A plan of this caller that makes a ConfigMap."""
        name = f"made-{next(self.place.names)}"
        body = {"metadata": {"name": name}}
        script = f"k8s.coreV1().create_namespaced_config_map({self.place.namespace!r}, {body!r})\n1"
        asking = types.Caller("a-session", "a client", "1", "evaluate_script", lasts=False, user=caller.name)
        with self.seat(caller) as own:
            answer = anyio.run(own.evaluator.evaluate, script, 60_000, None, asking)
        assert answer.plan, answer.text
        return Case(self, answer.plan, name)

    def told(self, caller: user.User) -> str:
        """What the answer 2 of this caller's next call says, with the news."""
        asking = types.Caller("another session", "a client", "1", "evaluate_script", lasts=False, user=caller.name)
        with self.seat(caller) as own:
            asker = own.offer().asker
            assert asker is not None
            return anyio.run(asker.news.add, types.Answer("2"), asking).text

    def reload(self, **more: Any) -> None:
        """Other settings, as at SIGHUP."""
        _, adopt = self.application.prepare(self.place.settings(self.application.settings.acts_as, **more))
        adopt()


@dataclass(frozen=True)
class Case:
    """One plan."""

    server: Server
    plan: str
    name: str

    def decide(self, approver: str = "user bob", identity: Any = None) -> Case:
        """Another person approves it."""
        shown = self.server.approvals.get(self.plan).plan
        decision = record.Decision(approver, "page", approves=True, hash=shown.hash, identity=identity)
        self.server.approvals.decide(self.plan, decision)
        return self

    def apply(self) -> record.Record:
        """What becomes of it, for whoever has approved it."""
        ended: record.Record = self.server.approvals.apply(self.plan, lambda _done, _count, _text: None)
        return ended

    @property
    def is_made(self) -> bool:
        return self.server.place.has(self.name)


@pytest.fixture(scope="module")
def place(run_folder: Path, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    kubeconfig, namespace = shared.attach("scratch", run_folder, run_process).kubeconfig, NAMESPACE
    Writer(kubeconfig).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    api = official_client.connect(kubeconfig)
    rbac: Any = client.RbacAuthorizationV1Api(api)
    rbac.create_namespaced_role(namespace, {"metadata": {"name": "caller"}, "rules": RULES})
    bind(rbac, namespace)
    with pytest.MonkeyPatch.context() as patch:
        # Otherwise a server would go on with a test's plan at any moment: each look comes after half a minute.
        patch.setattr(recovery.Keeper, "recover", lambda _keeper, _approvals: None)
        yield Place(client.CoreV1Api(api), rbac, kubeconfig, namespace, tmp_path_factory.mktemp("author"))


def bind(rbac: Any, namespace: str) -> None:
    """Gives the group its role."""
    subjects = [{"kind": "Group", "name": "payments", "apiGroup": "rbac.authorization.k8s.io"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "caller"}
    rbac.create_namespaced_role_binding(
        namespace, {"metadata": {"name": "caller"}, "subjects": subjects, "roleRef": role}
    )


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[Server]:
    with place.serving() as opened:
        yield opened


@pytest.fixture(autouse=True)
def counted(attacks: Callable[[int], None]) -> None:
    """Each test is one attack."""
    attacks(1)


def test_a_plan_that_others_approve_has_its_authors_rights_in_the_cluster(server: Server) -> None:
    """Not the server's, which may do everything, nor those of who approved it."""
    case, late = server.planned().decide(), server.planned().decide()
    assert case.apply().state == "applied" and case.is_made
    rbac, namespace = server.place.rbac, server.place.namespace
    rbac.delete_namespaced_role_binding("caller", namespace)
    try:
        with pytest.raises(errors.KubescriptError, match='User "alice" cannot'):
            _until_refused(late)
    finally:
        bind(rbac, namespace)
    assert not late.is_made
    assert server.planned().decide().apply().state == "applied"


def _until_refused(case: Case) -> None:
    """Applies a plan; raises how it ends."""
    ended = case.apply()
    raise errors.PlanError(ended.text)


LOST: Final[dict[str, Mapping[str, Any]]] = {
    "the author's rule is gone": {"access": [{"users": ["bob"]}]},
    "the author may only read": {"access": [{"users": ["alice"], "writes": "off"}, {}]},
    "rights depend on a scope whose absence is unknown": {"access": [{"scopes": ["ops"], "writes": "off"}, {}]},
}


@pytest.mark.parametrize("lost", LOST)
def test_an_author_who_has_lost_rights_since_has_nothing_applied(lost: str, server: Server) -> None:
    """The settings in force count, also for a plan that is approved already; the reason is on the plan."""
    approved, waiting = server.planned().decide(), server.planned()
    server.reload(**LOST[lost])
    try:
        with pytest.raises(errors.PlanError, match="the plan's author, user alice, may not have it applied any more"):
            waiting.decide()
        ended = approved.apply()
    finally:
        server.reload()
    assert ended.state == "stopped" and ended.text.startswith("plan.author: ") and "0 of 1 changes" in ended.text
    assert server.approvals.get(approved.plan).text == ended.text
    assert not approved.is_made and not waiting.is_made
    assert waiting.decide().apply().state == "applied"


def test_an_approver_who_has_lost_the_right_since_has_nothing_applied(server: Server) -> None:
    """An approved plan that nobody has begun to apply ends; one of an approver who still is one is applied."""
    approvers = {"approvers": [{"users": ["bob"], "namespaces": ["*"]}]}
    server.reload(**approvers)
    identity = authors.identify(BOB, server.application.settings)
    approved, other = server.planned().decide(identity=identity), server.planned().decide(identity=identity)
    server.reload()
    ended = approved.apply()
    assert ended.state == "stopped" and "user bob may not approve this plan any more" in ended.text
    assert not approved.is_made
    server.reload(**approvers)
    assert other.apply().state == "applied"
    server.reload()


def test_an_author_who_is_in_another_group_now_has_nothing_applied(server: Server) -> None:
    """By the file of tokens, which is read anew for each plan."""
    case = server.planned().decide()
    server.place.write_tokens("shop")
    try:
        ended = case.apply()
    finally:
        server.place.write_tokens()
    assert ended.state == "stopped" and "has other groups now" in ended.text and not case.is_made
    assert server.planned().decide().apply().state == "applied"


def test_a_user_of_another_issuer_with_the_authors_name_is_not_the_author(server: Server) -> None:
    """Nor does anyone act for an author for whom nobody vouches any more."""
    stranger = replace(ALICE, issuer="https://id.example.com")
    case, of_alice = server.planned(stranger), server.planned().decide()
    with pytest.raises(errors.PlanError, match="user alice is no user of this server any more"):
        case.decide()
    with server.seat(stranger) as seat:
        assert seat.planning is not None
        assert seat.planning.approvals.list_ready(stranger.person) == []
        assert seat.planning.approvals.list_unreported("", stranger.person, stranger.key) == []
    planned = server.approvals.get(of_alice.plan).plan
    settings = server.application.settings
    assert rights.may_decide(settings, server.application.fleet, ALICE, planned) and not rights.may_see(
        settings, stranger, planned
    )
    assert of_alice.apply().state == "applied" and not case.is_made


@pytest.mark.promise("H-04")
def test_other_rights_of_the_author_hear_nothing_of_a_plans_end(server: Server) -> None:
    """What the cluster has said of it is for the rights with which it was made, and they hear it after that, whatever
    else the person has been told or not."""
    case = server.planned().decide()
    server.place.core.create_namespaced_config_map(server.place.namespace, {"metadata": {"name": case.name}})
    assert case.apply().state == "stopped"
    for others in ((), ("shop",), ("payments", "shop")):
        assert server.told(replace(ALICE, groups=others)) == "2"
    assert f"plan {case.plan}: stopped" in (told := server.told(ALICE)) and f'"{case.name}" already exists' in told
    assert server.told(ALICE) == "2"


def test_a_plan_whose_author_is_altered_in_the_store_is_not_applied(server: Server) -> None:
    """The approval is for the author too: somebody makes himself, or a group of administrators, the author."""
    case = server.planned().decide()
    found = server.approvals.get(case.plan).plan
    known = msgspec.structs.replace(found.author.identity, groups=("system:masters",))
    altered = msgspec.structs.replace(found, author=msgspec.structs.replace(found.author, identity=known))
    with sqlite3.connect(server.place.folder / "state" / "plans.db") as database:
        values = (msgspec.json.encode(altered), altered.hash, case.plan)
        database.execute("UPDATE kubescript_plans SET plan = ?, hash = ? WHERE id = ?", values)
    database.close()
    with pytest.raises(errors.PlanError, match="is not as it was written"):
        _until_refused(case)
    assert not case.is_made and server.planned().decide().apply().state == "applied"


def test_another_replica_goes_on_as_the_author(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that had begun has died, or had not yet begun. Where the author has lost rights meanwhile, it ends the
    plan, and says that what had been marked may have been made."""
    monkeypatch.setattr(work, "LEASE_S", 0.001)
    begun, approved, lost = (server.planned().decide() for _ in range(3))
    kept = store.Store(str(server.place.folder / "state" / "plans.db"))
    for each in (begun, lost):
        kept.claim(each.plan, "a replica that died", 0.0)
        kept.mark(each.plan, "a replica that died", 0, record.Application("sending", "an-id"))
    kept.close()
    with server.place.serving() as other:
        _only(other, {begun.plan, approved.plan})
        assert [other.approvals.get(each.plan).state for each in (begun, approved)] == ["applied", "applied"]
        other.place.write_tokens("shop")
        _only(other, {lost.plan})
        other.place.write_tokens()
        ended = other.approvals.get(lost.plan)
    assert ended.state == "stopped" and "plan.author" in ended.text and "nobody knows" in ended.text
    assert begun.is_made and approved.is_made and not lost.is_made


def _only(server: Server, plans: set[str]) -> None:
    """What a server does at its start, for these plans."""
    for plan_id in server.approvals.list_unfinished().keys() & plans:
        server.approvals.resume(plan_id)


# --- with the author's own token ---------------------------------------------------------------------------------------


def account(place: Place, name: str) -> tuple[user.User, str]:
    """A service account, as the API server's review of its token names it, and a token."""
    with contextlib.suppress(client.ApiException):
        place.core.create_namespaced_service_account(place.namespace, {"metadata": {"name": name}})
    body = {"spec": {"expirationSeconds": 600}}
    token = place.core.create_namespaced_service_account_token(name, place.namespace, body).status.token
    who = f"system:serviceaccount:{place.namespace}:{name}"
    groups = ("system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{place.namespace}")
    return user.User(who, "token_review", f"uid-{name}", groups), token


def allowed(place: Place, name: str) -> tuple[user.User, str]:
    """A service account that may change ConfigMaps, and a token."""
    found = account(place, name)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "caller"}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": place.namespace}]
    binding = {"metadata": {"name": name}, "subjects": subjects, "roleRef": role}
    place.rbac.create_namespaced_role_binding(place.namespace, binding)
    return found


def test_only_the_authors_own_call_applies_a_plan_that_takes_the_authors_token(place: Place) -> None:
    """Neither who approves it, nor another caller with another token, nor the server itself, whose rights are greater."""
    (author, token), (other, others) = allowed(place, "author"), allowed(place, "other")
    with place.serving("caller", auth={"token_review": True}) as server:
        with acting.using(acting.Token(token)):
            case = server.planned(author)
        case.decide()
        with pytest.raises(errors.PlanError, match="is applied by the next call of its author"):
            case.apply()
        unfinished.resume(server.approvals)
        with server.seat(other) as seat, acting.using(acting.Token(others)):
            assert seat.planning is not None
            with pytest.raises(errors.PlanError, match="is applied by the next call of its author"):
                seat.planning.approvals.apply(case.plan, lambda _done, _count, _text: None)
            assert seat.planning.approvals.list_ready(other.person) == []
        with server.seat(author) as seat:
            assert seat.planning is not None
            with pytest.raises(errors.ClusterError, match="token has expired, or there is none"):
                seat.planning.approvals.apply(case.plan, lambda _done, _count, _text: None)
            assert not case.is_made and seat.planning.approvals.list_ready(author.person) == [case.plan]
            with acting.using(acting.Token(token)):
                ended = seat.planning.approvals.apply(case.plan, lambda _done, _count, _text: None)
    assert ended.state == "applied" and case.is_made


def test_an_author_whose_next_token_has_lost_the_cluster_applies_nothing_there(place: Place) -> None:
    """The provider has taken the group that had the right. A call whose token still has the group applies the plan."""
    author, token = allowed(place, "moved")
    moved = replace(author, groups=("system:authenticated",))
    context = {"context": "test", "audience": "test"}
    tables = {
        "context": "prod",
        "contexts": {"prod": context, "lab": context},
        "access": [{"groups": ["system:serviceaccounts"]}, {"contexts": ["lab"]}],
    }
    given = acting.Token(token, audiences=frozenset({"test"}))
    with place.serving("caller", auth={"token_review": True}, **tables) as server, acting.using(given):
        case = server.planned(author).decide()
        with server.seat(moved) as seat:
            assert seat.planning is not None and seat.planning.approvals.list_ready(moved.person) == [case.plan]
            with pytest.raises(errors.PlanError, match="takes no plans for cluster 'prod'"):
                seat.planning.approvals.apply(case.plan, lambda _done, _count, _text: None)
        assert not case.is_made and server.approvals.get(case.plan).state == "approved"
        with server.seat(author) as seat:
            assert seat.planning is not None
            ended = seat.planning.approvals.apply(case.plan, lambda _done, _count, _text: None)
    assert ended.state == "applied" and case.is_made


def test_a_plan_whose_author_never_calls_again_is_not_left_half_applied_for_ever(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else has the token. When it has expired, any replica ends it, and says what may have been made."""
    author, token = allowed(place, "gone")
    with place.serving("caller", auth={"token_review": True}) as server:
        with acting.using(acting.Token(token)):
            case = server.planned(author).decide()
        kept = store.Store(str(place.folder / "state" / "plans.db"))
        kept.claim(case.plan, "a replica that died", 0.0)
        kept.mark(case.plan, "a replica that died", 0, record.Application("sending", "an-id"))
        kept.close()
        _only(server, {case.plan})
        assert server.approvals.get(case.plan).state == "applying"
        monkeypatch.setattr(approval, "time", SimpleNamespace(time=lambda: time.time() + 10_000))
        _only(server, {case.plan})
        ended = server.approvals.get(case.plan)
    assert ended.state == "stopped" and "plan.expired" in ended.text and "nobody knows" in ended.text
    assert not case.is_made


def test_a_service_account_is_named_to_the_cluster_with_the_prefix_or_not_at_all(place: Place) -> None:
    """Attack: one whose token a review accepts is impersonated as itself, with groups of Kubernetes' own."""
    author, _ = account(place, "named")
    with place.serving(auth={"token_review": True}) as server, server.seat(author) as seat:
        script = f"k8s.coreV1().list_namespaced_config_map({place.namespace!r})\n1"
        answer = anyio.run(seat.evaluator.evaluate, script, 60_000, None, types.Caller("s"))
        assert answer.is_error and "one of Kubernetes' own" in answer.text, answer.text
        known = plan.Identity(
            "system:serviceaccount:x:y", "token_review", "u", ("system:masters",), (), (), "impersonate"
        )
        with server.application._open_author(known) as approvals:
            assert approvals.list_ready(known.caller.person) == []
