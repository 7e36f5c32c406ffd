"""What counts as a quantity: the forms of Kubernetes' own parser, and texts that are made to take time."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from kubescript.guest.sdk.values.quantity import quantity
from kubescript_sandbox.language import failures
from kubescript_sandbox.library import stdlib
from tests.kit import cases
from tests.kit.two_pods import answer, run

# As `resource.ParseQuantity` of k8s.io/apimachinery v0.36.3 reads them. It agrees on 21,000 made up texts, but for what
# has no digit ("m" is 0 to it), "K", blanks, what is above 2**80, and what is finer than a nano.
FORMS = {
    "0": "0", "-0": "0", "007": "7", "+1": "1", "-1": "-1", "5.": "5", ".5": "1/2", "-.5": "-1/2", "1.100": "11/10",
    "1n": "1/1000000000", "1u": "1/1000000", "1m": "1/1000", "1k": "1000", "1M": "1000000", "1G": "1000000000",
    "1T": "1000000000000", "1P": "1000000000000000", "1E": "1000000000000000000", "1Ki": "1024", "1Mi": "1048576",
    "1Gi": "1073741824", "1Ti": "1099511627776", "1Pi": "1125899906842624", "1Ei": "1152921504606846976",
    ".5Gi": "536870912", "0.1Ki": "512/5", "-1.5Mi": "-1572864", "1e3": "1000", "1E3": "1000", "1e+03": "1000",
    "25e-2": "1/4", "25E-2": "1/4", "1.5e1": "15", "123456789n": "123456789/1000000000", "12.345678": "6172839/500000",
}  # fmt: skip
NO_FORMS = (
    "m", "Ki", "+", "-", ".", "-.", "e3", "1.2.3", "1,5", "1_000", "0x10", "\u0661", "1ki", "1KI", "1mi", "1i", "1ni", "1e", "1e1.5",
    "1e3Ki", "1mm", "1B", "1GB", "1GiB", "1 Gi", "1h", "1\u00b2", "--1", "nan", "inf", "Infinity", "1e3e3", "1Gi\n2",
)  # fmt: skip

HOSTILE = (
    "1e999999999", "1E-999999999", "1e99999999999999999999", "9" * 1_000_000, "." + "0" * 1_000_000 + "1", "1" * 99 + "e999", "-1e999",
    " " * 1_000_000 + "x", "-" * 1_000_000, "1e" + "0" * 1_000_000 + "1",
)  # fmt: skip
"""Attack: a quantity that the API server passes on in a custom resource, whose number has a billion digits."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()


@cases.each(("text", "number"), FORMS.items())
def test_a_form_of_kubernetes_is_read_exactly(text: str, number: str) -> None:
    """To the last digit, whatever the suffix."""
    assert Fraction(quantity(text)) == Fraction(number)
    assert answer(f"parse_quantity({text!r}) == quantity({text!r})")


@cases.each("text", NO_FORMS)
def test_what_is_no_quantity_is_told(text: str) -> None:
    """With what one looks like."""
    with pytest.raises(ValueError, match="is no quantity; one is a number with n, u, m, k"):
        quantity(text)
    with pytest.raises(ValueError, match="invalid quantity"):
        run(f"parse_quantity({text!r})")


@cases.each("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_size_is_refused_at_once(text: str) -> None:
    """In a message of its beginning; the next quantity is read."""
    before = time.process_time()
    with pytest.raises(ValueError, match="is no quantity") as raised:
        quantity(text)
    assert time.process_time() - before < 1 and len(str(raised.value)) < 250
    assert quantity("1") == 1


def test_a_hostile_decimal_is_compared_at_once() -> None:
    """In both orders, without its digits being written out."""
    before = time.process_time()
    script = "from decimal import Decimal\nhuge = Decimal('1e99999')\n[quantity('1') < huge, huge > quantity('1m'), huge == quantity('1')]"
    assert answer(script) == [True, True, False]
    with pytest.raises(ValueError, match="is no quantity"):
        run("from decimal import Decimal\nquantity(Decimal('1e999999'))")
    assert time.process_time() - before < 2


def test_a_number_stays_short() -> None:
    """A smoothed average of ten thousand steps, which would have ten thousand digits."""
    before = time.process_time()
    found = answer(
        "average = quantity('1')\nfor _ in range(10_000):\n    average = average * 0.7 + quantity('300m')\naverage"
    )
    assert abs(found - 1) < 1e-9 and time.process_time() - before < 5


def test_what_is_sent_to_the_cluster_is_a_number() -> None:
    """A parameter, and a body with quantities in it."""
    assert run("len(core.list_namespaced_pod('shop', limit=quantity('2')))") == 2
    assert (
        run(
            "from kubernetes import client\nclient.V1Scale(spec={'replicas': quantity('2') * 3}).to_dict()['spec']['replicas']"
        )
        == 6
    )


@cases.each(
    ("script", "hint"),
    [
        ("quantity('1') + '250m'", "quantities are text: write quantity(x)"),
        ("'250m' < quantity('1')", "quantities are text: write quantity(x)"),
        ("range(quantity('1500m'))", "1.5 is not a whole number; write int(x)"),
        ("from decimal import Decimal\nDecimal(quantity('1'))", "a Decimal is parse_quantity(text)"),
        ("quantity('1') / quantity(None)", "division by zero"),
        ("timedelta(seconds=quantity('90'))", "write float(x)"),
    ],
)
def test_a_mistake_is_told(script: str, hint: str) -> None:
    """By the error of Python, with what to write instead."""
    with pytest.raises((TypeError, ZeroDivisionError)) as raised:
        run(script)
    assert hint in failures.describe(raised.value).hint + str(raised.value)
