"""The one door: what it answers, what it counts, and that nothing passes it unmasked or raises through it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec
import pytest

from kubescript import errors, types
from kubescript.broker import broker, operation, records, summary
from kubescript.broker import call as broker_call
from kubescript.output import notes
from kubescript.policy import decisions, denied_resources, policy
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from tests.kit import reading


class Fake:
    """A cluster that answers as told and remembers what reached it."""

    name = "fake"
    address = "https://127.0.0.1:6443"
    namespace = "default"
    is_named_by_data = False

    def __init__(self) -> None:
        self.seen: list[request.Request] = []
        self.closed = 0
        self.content_type = "application/json"
        self.answer: Exception | tuple[int, list[bytes | Exception], dict[str, str]] = (
            200,
            [b'{"kind":"PodList","items":', b"[]}"],
            {},
        )

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        self.seen.append(call)
        if isinstance(self.answer, Exception):
            raise self.answer
        status, parts, headers = self.answer
        return types.Response(status, "", self.content_type, self._chunks(parts), self._close, headers)

    @staticmethod
    def _chunks(parts: list[bytes | Exception]) -> Iterator[bytes]:
        for part in parts:
            if isinstance(part, Exception):
                raise part
            yield part

    def _close(self) -> None:
        self.closed += 1

    def close(self) -> None:
        pass


PODS = exchanges.Call("GET", ("api", "v1", "namespaces", "a", "pods"))
NO_SECRETS = denied_resources.DeniedResource("core", kind="Secret")
SECRETS = exchanges.Call("GET", ("api", "v1", "namespaces", "a", "secrets", "db"))


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def kept() -> list[records.Record]:
    return []


@pytest.fixture
def door(fake: Fake, kept: list[records.Record]) -> broker.Broker:
    return reading.made(fake, policy.Policy(rules=(NO_SECRETS,)), record=kept.append)


def counted(noted: dict[notes.Note, int]) -> dict[str, int]:
    """The notes as texts."""
    return {str(note): count for note, count in noted.items()}


def complete(tally: summary.Summary) -> bool:
    return not (tally.denied or tally.failed or tally.warnings)


def works(door: broker.Broker) -> None:
    reply, response = door.handle(PODS, operation.Operation(), 5)
    assert reply.fault is None and response is not None and b"".join(response.chunks)


def test_answer(door: broker.Broker, fake: Fake, kept: list[records.Record]) -> None:
    """An allowed call is performed, its bytes are counted, and one record tells of it when the body has ended."""
    tally = summary.Summary()
    reply, response = door.handle(PODS, operation.Operation(tally), 5)
    assert reply == exchanges.Reply(200, "", "application/json") and response is not None and not kept
    assert b"".join(response.chunks) == b'{"kind":"PodList","items":[]}'
    assert (tally.calls, tally.bytes, complete(tally), fake.closed > 0) == (1, 29, True, True)
    response.close()
    assert [(one.what, one.verdict, one.status, one.bytes, one.fault) for one in kept] == [
        ("list pods in namespace a", "allow", 200, 29, "")
    ]


def test_denied(door: broker.Broker, fake: Fake, kept: list[records.Record]) -> None:
    """A denied call never reaches the cluster; the model is told why and what else to do; the receipt counts it without
    names."""
    tally = summary.Summary()
    for _ in range(2):
        reply, response = door.handle(SECRETS, operation.Operation(tally), 5)
        assert response is None and reply.status == 0 and reply.fault is not None
        assert reply.fault.code == "policy.denied_resource" and "look at what refers" in reply.fault.message
    assert counted(tally.denied) == {"get secrets in namespace a (policy.denied_resource)": 2} and not complete(tally)
    assert not fake.seen and kept[0].verdict == "deny"
    works(door)


LISTED = exchanges.Call(
    "GET", ("api", "v1", "secrets"), (("fieldSelector", "type!=Opaque,metadata.name=a"), ("includeObject", "Object"))
)
METADATA = "application/json;as=PartialObjectMetadata"


@pytest.mark.parametrize("accept", ["json", "table", "metadata", "text"])
def test_metadata_is_asked_for_in_no_other_form(
    fake: Fake, kept: list[records.Record], accept: exchanges.Accept
) -> None:
    """Of a kind that is served as metadata the API server is asked for nothing else, whatever the script asked for; a
    broker with nothing that could leave the rest out of the answer withholds it."""
    door = broker.Broker(fake, policy.Policy(), record=kept.append)
    watched = msgspec.structs.replace(LISTED, query=(("watch", "true"),))
    for call, wanted in ((LISTED, f"{METADATA}List"), (SECRETS, METADATA), (watched, METADATA)):
        reply, response = door.handle(msgspec.structs.replace(call, accept=accept), operation.Operation(), 5)
        assert response is not None and reply.metadata_rule == "core/Secret"
        with pytest.raises(errors.RedactionError, match="withheld"):
            list(response.chunks)
        sent = fake.seen[-1]
        assert sent.accept == f"{wanted};v=v1;g=meta.k8s.io" and "includeObject" not in dict(sent.query)
        assert (kept[-1].verdict, kept[-1].rule, kept[-1].fault) == ("allow", "core/Secret", "redaction.failed")
    works(reading.made(fake, policy.Policy()))


ORACLES = [
    "data.password=a", "stringData.password!=a", "metadata.name=a,data.password=a", "metadata.name=a\\,data.password=a",
    "type", "immutable=true", " type=a", "spec.password=a", "type=a=b,data.x=y", "metadata.annotations.x=y",
]  # fmt: skip
"""Field selectors whose answer could tell what is in an object, or that two readers may read in two ways."""


@pytest.mark.parametrize("selector", ORACLES)
def test_a_field_selector_is_no_oracle(fake: Fake, kept: list[records.Record], selector: str) -> None:
    """A field selector of anything but name, namespace and type is denied, and never reaches the cluster."""
    door, tally = reading.made(fake, policy.Policy(), record=kept.append), summary.Summary()
    call = msgspec.structs.replace(LISTED, query=(("fieldSelector", selector),))
    reply, response = door.handle(call, operation.Operation(tally), 5)
    assert response is None and reply.fault is not None and reply.fault.code == "policy.denied_resource"
    assert "select by labels" in reply.fault.message and not fake.seen and kept[-1].verdict == "deny"
    works(door)


def test_a_plan_nobody_carries_out_is_denied(fake: Fake) -> None:
    """A verdict that is for writes performs no read, whatever the policy says."""

    class Planning(policy.Policy):
        def decide(self, call: request.Request) -> decisions.Decision:
            return decisions.Decision("plan")

    reply, _ = reading.made(fake, Planning()).handle(PODS, operation.Operation(), 5)
    assert reply.fault is not None and reply.fault.code == "writes.verbs" and not fake.seen


def test_unparsable(door: broker.Broker, fake: Fake, kept: list[records.Record]) -> None:
    """A call that makes no request is a fault, and noted: a script may swallow it and count what it did not get."""
    tally = summary.Summary()
    reply, _ = door.handle(exchanges.Call("GET", ("api", "v1", "..", "secrets")), operation.Operation(tally), 5)
    assert reply.fault is not None and reply.fault.code == "request.path"
    assert counted(tally.failed) == {"request.path GET": 1} and not fake.seen and kept[0].call is None
    works(door)


FAILURES = [
    (errors.ClusterError("gone"), "cluster.unreachable", "cluster.unreachable list pods in namespace a"),
    (
        errors.ClusterError("late", code="cluster.timeout"),
        "cluster.timeout",
        "cluster.timeout list pods in namespace a",
    ),
    (ZeroDivisionError("secret detail"), "internal", "internal list pods in namespace a"),
]


@pytest.mark.parametrize(("error", "code", "note"), FAILURES)
def test_failures(door: broker.Broker, fake: Fake, error: Exception, code: str, note: str) -> None:
    """A cluster that cannot be asked, or a bug, becomes a fault and a line of the receipt; the door stays open."""
    tally = summary.Summary()
    fake.answer = error
    reply, response = door.handle(PODS, operation.Operation(tally), 5)
    assert response is None and reply.fault is not None and reply.fault.code == code
    assert "secret detail" not in reply.fault.message and counted(tally.failed) == {note: 1}
    fake.answer = (200, [b'{"kind":"PodList","items":[]}'], {})
    works(door)


STATUSES = [
    (403, PODS, True),
    (404, PODS, True),
    (500, PODS, True),
    (429, PODS, True),
    (410, PODS, True),
    (200, PODS, False),
]
STATUSES += [(404, exchanges.Call("GET", ("api", "v1", "namespaces", "a", "pods", "b")), False)]
STATUSES += [(403, exchanges.Call("GET", ("api", "v1", "namespaces", "a", "pods", "b")), True)]


@pytest.mark.parametrize(("status", "call", "noted"), STATUSES)
def test_statuses(door: broker.Broker, fake: Fake, status: int, call: exchanges.Call, noted: bool) -> None:
    """A refusal of the API server is an answer with its status, not a fault; it is noted unless the object is just not
    there."""
    tally = summary.Summary()
    fake.answer = (status, [b"{}"], {})
    reply, _ = door.handle(call, operation.Operation(tally), 5)
    assert reply.status == status and reply.fault is None
    assert bool(tally.failed) is noted and not tally.denied
    assert all(str(note).startswith(str(status)) for note in tally.failed)


def test_broken_off(door: broker.Broker, fake: Fake, kept: list[records.Record]) -> None:
    """A body that breaks off raises its code, is noted and recorded once."""
    tally = summary.Summary()
    fake.answer = (200, [b"{", errors.ClusterError("cut", code="cluster.broken")], {})
    _, response = door.handle(PODS, operation.Operation(tally), 5)
    assert response is not None
    with pytest.raises(errors.ClusterError):
        b"".join(response.chunks)
    response.close()
    assert counted(tally.failed) == {"cluster.broken list pods in namespace a": 1} and tally.bytes == 1
    assert [one.fault for one in kept] == ["cluster.broken"]


def test_closed_early(door: broker.Broker, fake: Fake, kept: list[records.Record]) -> None:
    """A body nobody reads is closed and recorded, and counts as no failure."""
    tally = summary.Summary()
    _, response = door.handle(PODS, operation.Operation(tally), 5)
    assert response is not None
    response.close()
    assert fake.closed == 1 and complete(tally) and [one.fault for one in kept] == ["closed"]


def test_warnings(door: broker.Broker, fake: Fake) -> None:
    """What the server warns of reaches the receipt."""
    tally = summary.Summary()
    fake.answer = (200, [b"{}"], {"warning": "only some namespaces"})
    door.handle(PODS, operation.Operation(tally), 5)
    assert counted(tally.warnings) == {"only some namespaces": 1} and not complete(tally)


def test_redaction(fake: Fake) -> None:
    """The redactor sees every body, errors included, and what it gives is all the script gets; what came is counted."""

    def mask(call: request.Request, chunks: Iterator[bytes], found: broker_call.Found) -> Iterator[bytes]:
        for chunk in chunks:
            found("password")
            yield chunk.replace(b"hunter2", b"<1>")

    fake.answer = (500, [b"password hunter2"], {})
    tally = summary.Summary()
    kept: list[records.Record] = []
    _, response = reading.made(fake, policy.Policy(), redact=reading.changing(mask), record=kept.append).handle(
        PODS, operation.Operation(tally), 5
    )
    assert response is not None and b"".join(response.chunks) == b"password <1>" and tally.bytes == 16
    assert tally.redacted == kept[0].redacted == {"password": 1}


def test_redaction_fails_closed(fake: Fake) -> None:
    """A redactor that trips withholds the body as a fault; it neither passes it nor ends it short."""

    def trips(call: request.Request, chunks: Iterator[bytes], found: broker_call.Found) -> Iterator[bytes]:
        yield b"ok"
        raise ValueError(next(chunks))

    tally = summary.Summary()
    door = reading.made(fake, policy.Policy(), redact=reading.changing(trips))
    _, response = door.handle(PODS, operation.Operation(tally), 5)
    assert response is not None
    with pytest.raises(errors.KubescriptError) as caught:
        b"".join(response.chunks)
    assert caught.value.code == "redaction.failed" and caught.value.__cause__ is None
    assert list(map(str, tally.failed)) == ["redaction.failed list pods in namespace a"]


def test_the_tally_is_bounded(door: broker.Broker) -> None:
    """A script that invents names cannot make the host remember them all."""
    tally = summary.Summary()
    for number in range(1_000):
        door.handle(
            exchanges.Call("GET", ("api", "v1", "namespaces", f"n{number}", "secrets")), operation.Operation(tally), 5
        )
    assert tally.calls == 1_000 and len(tally.denied) == 100


def test_log(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    """One structured line per call, without bodies or query values."""
    door = reading.made(fake, policy.Policy())
    body = msgspec.Raw(b'{"secret":"hunter2"}')
    with caplog.at_level(logging.INFO, "kubescript.broker.broker"):
        _, response = door.handle(
            exchanges.Call("GET", ("api", "v1", "pods"), (("labelSelector", "hunter2"),)), operation.Operation(), 5
        )
        assert response is not None
        b"".join(response.chunks)
        door.handle(
            exchanges.Call("POST", ("api", "v1", "namespaces", "a", "pods"), body=body), operation.Operation(), 5
        )
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert (
        caplog.records[0].__dict__["what"] == "list pods" and caplog.records[1].__dict__["rule"] == "policy.read_only"
    )
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("form", ["application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor-seq"])
@pytest.mark.parametrize("accept", ["json", "text"])
def test_an_answer_that_masking_cannot_read_is_refused(form: str, accept: exchanges.Accept, fake: Fake) -> None:
    """Neither YAML nor a binary form reaches masking, whatever the API server or a proxy sends; the next call works."""
    door = reading.made(fake, policy.Policy())
    fake.content_type = form
    call = msgspec.structs.replace(PODS, accept=accept)
    reply, response = door.handle(call, operation.Operation(), 5)
    assert reply.fault is not None and reply.fault.code == "cluster.broken" and "instead of JSON" in reply.fault.message
    assert response is None and fake.closed
    fake.content_type = "application/json"
    assert door.handle(PODS, operation.Operation(), 5)[0].status == 200
