"""Layer 1, by chance: scripts made of any allowed construct bind, meet, return, raise and print nothing forbidden.

hypothesis writes programs (grammar.py); what the compiler accepts runs in this process, in the world the worker builds,
over a cluster that always answers the same. Whatever a program could have held is judged by reach.py. The number of
programs is fixed for CI; `KUBESCRIPT_TEST_FUZZ=5000` runs that many.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable
from typing import Final, cast

import hypothesis
import pytest
from hypothesis import Phase, settings

from kubescript.guest.sdk.values import operations
from kubescript_sandbox.language import formatting, guards, identifiers, read_values
from kubescript_sandbox.library import builtins, stdlib
from security_tests import grammar
from security_tests.worlds import ATTEMPT, Verdict, judge, shared
from tests.kit import cases

PROGRAMS: Final = int(os.environ.get("KUBESCRIPT_TEST_FUZZ", "100"))

FUZZ: Final = settings(
    max_examples=PROGRAMS,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()
    operations.warm()
    shared()  # as it is before any guard is opened


CLIENT: Final = (
    "kubernetes.client.CoreV1Api",
    "kubernetes.client.ApiClient",
    "kubernetes.client.Configuration",
    "kubernetes.client.ApiException",
    "kubernetes.client.V1Pod",
    "kubernetes.config.list_kube_config_contexts",
    "kubernetes.config.load_kube_config",
    "kubernetes.config.new_client_from_config",
    "kubernetes.config.ConfigException",
    "kubernetes.dynamic.DynamicClient",
    "kubernetes.utils.parse_quantity",
    "kubernetes.watch.Watch",
)


# --- the promise ------------------------------------------------------------------------------------------------------


@pytest.mark.promise("L-02")
def test_no_program_holds_what_it_must_not(record_property: Callable[[str, object], None]) -> None:
    """Whatever a program of allowed constructs binds, meets, returns, raises or prints is data, SDK or allowed library."""
    fates: Counter[str] = Counter()
    used: set[str] = set()
    seen: set[str] = set()

    @settings(FUZZ)
    @hypothesis.given(grammar.programs())
    def fuzz(text: grammar.Text) -> None:
        verdict = judge(text.source)
        assert not verdict.leaks, f"{verdict.leaks[:5]}\n{text.source}"
        if text.source not in seen:
            seen.add(text.source)
            fates[verdict.fate] += 1
            used.update(text.used if verdict.fate == "ended" else ())

    fuzz()
    print(f"{fates.total()} programs: {dict(fates)}")
    record_property("attacks", fates.total())
    assert fates.total() > PROGRAMS / 2
    assert fates["refused"] < fates.total() * 0.5, f"too few were accepted: {fates}"
    assert fates["ended"] > fates.total() * 0.25, f"too few ran to their end: {fates}"
    assert fates["refused"], "nothing was refused: the programs are tame"
    assert used >= grammar.KINDS, f"never in a program that ran: {grammar.KINDS - used}"


@pytest.mark.promise("L-02")
@cases.each("name", CLIENT)
def test_what_the_official_client_exports_is_the_sdk_s(name: str) -> None:
    """Chance names a class of the client once in thousands of programs; so each is held and called here."""
    verdict = judge(f"import kubernetes\n{ATTEMPT}held = {name}\ncalled = attempt(held)\n")
    assert verdict == Verdict("ended")


PARTS: Final = (
    "[*pod.keys().mapping.values()]",
    "[*pod.items().mapping.values()]",
    "[*pod.metadata.keys().mapping.values()]",
    "[*pods.items.copy(), *pods.values(), *pods.items()]",
    "[*pod.to_dict().keys().mapping.values()]",
    "{**pod}",
)


@pytest.mark.promise("L-02")
@cases.each("parts", PARTS)
def test_the_parts_of_an_object_are_data_and_the_sdk_s(parts: str) -> None:
    """However an object of the cluster is taken apart, a script gets decoded data. The first gave msgspec's."""
    read = "pods = k8s.coreV1().list_namespaced_pod('shop')\npod = k8s.coreV1().read_namespaced_pod('web', 'shop')\n"
    assert judge(f"{read}held = {parts}\n") == Verdict("ended")


# --- the fuzzer finds leaks where there are some ----------------------------------------------------------------------


def open_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """`"".format` is handed out raw."""
    monkeypatch.setattr(formatting, "safe", lambda value: value)


def open_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """`x._name` is read from anything."""
    monkeypatch.setitem(guards._GUARDS, identifiers.Access.PRIVATE, guards.read)
    monkeypatch.setitem(builtins._BUILTINS, "_private_", guards.read)


def open_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the names nor the types of frames are refused."""
    monkeypatch.setattr(identifiers, "INTROSPECTION", frozenset())
    _open_types(monkeypatch)


def _open_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """No type of object is refused, neither to be looked into nor to be handed out."""
    for kind in guards.REFUSED_TYPES:
        monkeypatch.delitem(guards.READERS, kind)
    monkeypatch.setattr(read_values, "REFUSED_TYPES", frozenset())


def open_dunders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any dunder may be read from anything, by a string at least."""
    monkeypatch.setattr(identifiers, "TEXTS", frozenset(grammar.DANGEROUS))
    _open_types(monkeypatch)


def open_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some modules are handed out themselves."""
    for name in ("math", "string", "random", "time", "csv", "heapq", "bisect", "base64", "hashlib", "html", "textwrap"):
        monkeypatch.setitem(cast("dict[str, object]", stdlib.MODULES), name, importlib.import_module(name))


OPENED: Final = {
    "format": (open_format, "'x'.format", "the raw str.format"),
    "private": (open_private, "handle._secret", "the secret of the host object"),
    "frames": (open_frames, "getattr((x for x in [1]), 'gi_' + 'frame')", "a frame"),
    "dunders": (open_dunders, "getattr(lambda: 0, '__code__')", "a code"),
    "import": (open_import, "import math as v\nv", "a module"),
}
"""A guard taken away ▶ a program that notices, and what must be found then."""


@pytest.mark.promise("L-02")
@pytest.mark.parametrize(("opening", "source", "expected"), OPENED.values(), ids=OPENED)
def test_an_open_guard_is_noticed(
    opening: Callable[[pytest.MonkeyPatch], None], source: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is harmless with all guards is caught with what it holds when one is gone."""
    assert judge(source).leaks == ()
    opening(monkeypatch)
    assert any(expected in leak for leak in judge(source).leaks), judge(source)


@pytest.mark.promise("L-02")
@pytest.mark.parametrize("name", ["dunders", "import"])
def test_the_fuzzer_finds_an_open_guard(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a guard gone, chance alone comes upon what it held back."""
    opening, _, expected = OPENED[name]
    opening(monkeypatch)
    search = settings(FUZZ, max_examples=400, phases=[Phase.generate])

    def caught(text: grammar.Text) -> bool:
        return any(leak.endswith(expected) for leak in judge(text.source).leaks)

    assert hypothesis.find(grammar.programs(), caught, settings=search)
