"""What a team's chat is told of plans, by a real request to a webhook."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript import config, errors
from kubescript.changes import notices
from kubescript.changes.store import record
from kubescript.wire import inspection
from tests.kit import approval_page, patience, webhooks
from tests.kit.webhooks import Webhook

VALUE: Final = "a value of the plan"
LINK: Final = "https://team.example.com/approvals/plans/p-1"


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with webhooks.opened() as found:
        yield found


def notifier(webhook: Webhook, folder: Path, form: config.NoticeFormat = "json") -> notices.Notifier:
    """A notifier of this webhook."""
    (folder / "url").write_text(webhook.url + "\n")
    (folder / "secret").write_text("shared\n")
    settings = config.Notify(url_file=folder / "url", secret_file=folder / "secret", format=form)
    return notices.Notifier(settings)


def close(own: notices.Notifier, webhook: Webhook, sent: int) -> None:
    """Closes a notifier once so much was sent: at its end it sends for three seconds only."""
    patience.until(lambda: len(webhook.sent) >= sent)
    own.close()


def waiting(**changed: Any) -> record.Record:
    """A plan that waits, with a value in it."""
    row = inspection.Row("spec.replicas", None, json.dumps(VALUE))
    step = approval_page.step(rows=(row,), warnings=(VALUE,), effects=(VALUE,), **changed)
    return record.Record(approval_page.plan_of(step, place="prod (https://10.0.0.1)"), "pending", text=VALUE)


@pytest.mark.parametrize("form", ["json", "slack", "teams"])
def test_a_plan_that_waits_is_told_with_its_link_and_without_values(
    webhook: Webhook, tmp_path: Path, form: config.NoticeFormat
) -> None:
    """In each format; the signature covers the body and the time."""
    own = notifier(webhook, tmp_path, form)
    found = waiting()
    own.tell(found, LINK)
    close(own, webhook, 1)
    ((headers, body),) = webhook.sent
    text = body.decode()
    assert LINK in text and found.plan.id in text
    for words in ("uid 1000 (alice)", "deployments.apps", "shop", "patch", "prod"):
        assert words in text
    assert VALUE not in text and "10.0.0.1" not in text and "web" not in text.replace("/approvals", "")
    signed = b"v1:" + headers[notices.TIMESTAMP].encode() + b":" + body
    assert headers[notices.SIGNATURE] == "v1=" + hmac.new(b"shared", signed, "sha256").hexdigest()


def test_the_end_of_a_plan_is_told(webhook: Webhook, tmp_path: Path) -> None:
    """Each end once; what is on the way to one is none."""
    own = notifier(webhook, tmp_path)
    plan = waiting().plan
    for state in ("approved", "applying", "applied", "declined", "stopped", "expired"):
        own.tell(record.Record(plan, state, text=VALUE), LINK)
    close(own, webhook, 3)
    assert [each["state"] for each in webhook.documents] == ["applied", "declined", "stopped"]


def test_a_webhook_that_fails_is_tried_three_times_and_the_next_notice_goes_out(
    webhook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so once, without the URL, which is a secret."""
    monkeypatch.setattr(notices, "_PAUSES_S", (0.0, 0.0))
    webhook.statuses = [500, 500, 500]
    own = notifier(webhook, tmp_path)
    own.tell(waiting(), LINK)
    patience.until(lambda: "not delivered: status 500" in caplog.text)
    own.tell(waiting(), LINK)
    close(own, webhook, 4)
    assert len(webhook.sent) == 4
    assert "secret-of-the-url" not in caplog.text


@pytest.mark.parametrize("form", ["slack", "teams"])
@pytest.mark.parametrize("name", ["<!channel>", "<https://evil.example|Open>", "[Open](https://evil.example)", "a\nb"])
def test_no_name_of_a_plan_is_markup_of_a_chat(
    webhook: Webhook, tmp_path: Path, form: config.NoticeFormat, name: str
) -> None:
    """Attack: a script names a namespace so that the notice mentions everybody, or has another link."""
    own = notifier(webhook, tmp_path, form)
    own.tell(waiting(namespace=name, resource=name, group=name), LINK)
    close(own, webhook, 1)
    ((_, body),) = webhook.sent
    text = body.decode()
    assert json.dumps(name)[1:-1] not in text and "evil" not in text and "no valid name" in text


def test_a_file_without_a_url_is_named(tmp_path: Path) -> None:
    """At the start, not with the first plan; the content is not in the message."""
    (tmp_path / "url").write_text("hooks.example/secret")
    with pytest.raises(errors.ConfigError, match=r"plans\.notify\.url_file") as caught:
        notices.Notifier(config.Notify(url_file=tmp_path / "url"))
    assert "hooks.example" not in caught.value.message
