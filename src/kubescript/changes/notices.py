"""Tells a team's chat, by a webhook, of plans that wait for a person and of how plans end.

A notice has no value and no text of the cluster: names of kinds and namespaces are checked, and everything else is
kubescript's own or the operator's. It is sent in a separate thread; a failure is a line in the log.
"""

from __future__ import annotations

import collections
import hmac
import json
import logging
import re
import threading
import time
from typing import Any, Final

import anyio
import httpx2

from kubescript import config, errors
from kubescript.changes import outbox, plan
from kubescript.changes.store import record
from kubescript.config import named_files
from kubescript.output import sanitizing

__all__ = ["SIGNATURE", "TIMESTAMP", "Notifier", "compose"]

log = logging.getLogger(__name__)

SIGNATURE: Final = "X-Kubescript-Signature"
"""The header with `v1=` and the HMAC-SHA256, in hexadecimal, of `v1:`, the time, `:` and the body."""
TIMESTAMP: Final = "X-Kubescript-Timestamp"
"""The header with the time of the notice in seconds since the epoch."""
_PAUSES_S: Final = (1.0, 10.0)
"""The pauses before the second and the third try."""
_TIMEOUT_S: Final = 10.0
"""Seconds for a whole request."""
_CLOSE_S: Final = 3.0
"""How many seconds a server that ends waits for notices."""
_MOST_LINES: Final = 20
# A script chooses these names.
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9./]{0,251}[a-z0-9])?")
_MAX_AUTHOR: Final = 100
_ENDED: Final = {
    "applied": "was applied",
    "declined": "was declined; nothing was changed",
    "stopped": "stopped before its end",
}


class Notifier:
    """The sender of one server's notices. Used by many threads."""

    def __init__(self, settings: config.Notify) -> None:
        """Raises ConfigError when a file in the settings cannot be read."""
        self._format = settings.format
        self._url = named_files.read_text(settings.url_file, "plans.notify.url_file").strip()
        if not _is_url(self._url):
            raise errors.ConfigError(f"plans.notify.url_file: {settings.url_file} has no URL")
        self._secret = ""
        if settings.secret_file is not None:
            self._secret = named_files.read_text(settings.secret_file, "plans.notify.secret_file").strip()
        self._outbox = outbox.Outbox()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubescript-notices", daemon=True)
        self._thread.start()

    def tell(self, found: record.Record, link: str) -> None:
        """Sends a notice about a plan soon, if its state is worth one; `link` is the address of its page, if there is
        one. Raises nothing."""
        if found.state != "pending" and found.state not in _ENDED:
            return
        document = compose(found, self._format, link)
        author = found.plan.author
        notice = outbox.Notice(found.plan.id, json.dumps(document).encode())
        dropped = self._outbox.put(author.person or author.user, notice)
        if dropped is not None:
            log.warning(
                "plan %s: no notice is sent, since too many wait", dropped.plan, extra={"event": "plans.notice"}
            )

    def close(self) -> None:
        """Sends what waits, as far as that takes three seconds."""
        self._closing.set()
        self._outbox.close()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while (notice := self._outbox.take()) is not None:
            self._send(notice.body)

    def _send(self, body: bytes) -> None:
        """Sends a notice, at the third try if need be."""
        why = ""
        for pause_s in (0.0, *_PAUSES_S):
            if self._closing.wait(pause_s) and why:
                break
            try:
                status = anyio.run(self._post, body)
            except Exception as error:  # whatever it is, the next notice must be sent
                why = type(error).__name__
                continue
            if status < 300:
                return
            why = f"status {status}"
        # The URL is a secret.
        log.warning("a notice about a plan was not delivered: %s", why, extra={"event": "plans.notice"})

    async def _post(self, body: bytes) -> int:
        """Returns the status of the webhook's answer. Raises TimeoutError, HTTPError."""
        headers = self._headers(body)
        with anyio.fail_after(_TIMEOUT_S):
            async with (
                httpx2.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=False) as client,
                client.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                # Attack: the answer's body has no end. It is never read.
                return answer.status_code

    def _headers(self, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._secret:
            seconds = str(int(time.time()))
            signed = f"v1:{seconds}:".encode() + body
            code = hmac.new(self._secret.encode(), signed, "sha256").hexdigest()
            headers |= {TIMESTAMP: seconds, SIGNATURE: f"v1={code}"}
        return headers


def compose(found: record.Record, form: config.NoticeFormat, link: str) -> dict[str, Any]:
    """Returns a notice about a plan in one of the formats."""
    facts = _list_facts(found, link)
    if form == "json":
        return facts
    text = _describe(facts)
    if form == "slack":
        return _write_for_slack(text, link)
    return _write_for_teams(text, link)


def _list_facts(found: record.Record, link: str) -> dict[str, Any]:
    planned = found.plan
    counts = collections.Counter(map(_place, planned.steps))
    return {
        "event": "waiting" if found.state == "pending" else "ended",
        "state": found.state,
        "plan": planned.id,
        "author": sanitizing.printable(planned.author.user)[:_MAX_AUTHOR] or "an unknown author",
        "cluster": planned.place.partition(" (")[0],
        "changes": [
            {"verb": verb, "resource": resource, "namespace": namespace, "count": count}
            for (verb, resource, namespace), count in counts.items()
        ],
        "critical": len(planned.critical),
        "approvals": planned.approvals,
        "expires": int(planned.expires),
        "link": link,
    }


def _place(step: plan.Step) -> tuple[str, str, str]:
    namespace = _check_name(step.namespace) if step.namespace else ""
    return step.verb, _check_name(step.full_resource), namespace


def _check_name(name: str) -> str:
    """Returns a name as Kubernetes has it; of another text, only that it is none."""
    # Attack: a script gives a namespace the name of a link, or of a message to everybody in the channel.
    return name if _NAME.fullmatch(name) else "(no valid name)"


def _describe(facts: dict[str, Any]) -> str:
    """Returns a notice as lines of text."""
    name = f"Plan {facts['plan']} of {facts['author']}"
    where = f" in {facts['cluster']}" if facts["cluster"] else ""
    if facts["event"] == "waiting":
        needed = f" from {facts['approvals']} people" if facts["approvals"] > 1 else ""
        first = f"{name}{where} waits for an approval{needed}"
    else:
        first = f"{name}{where} {_ENDED[facts['state']]}"
    lines = [first]
    for each in facts["changes"][:_MOST_LINES]:
        place = f" in namespace {each['namespace']}" if each["namespace"] else ""
        lines.append(f"{each['verb']} {each['resource']}{place}: {each['count']}")
    more = len(facts["changes"]) - _MOST_LINES
    if more > 0:
        lines.append(f"and {more} more kinds of changes")
    if facts["critical"] and facts["event"] == "waiting":
        lines.append(f"{facts['critical']} critical findings")
    return "\n".join(lines)


def _write_for_slack(text: str, link: str) -> dict[str, Any]:
    # Only `mrkdwn` texts can mention people or hide a link behind words, and the one here is our own.
    blocks: list[dict[str, Any]] = [{"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}]
    if link:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": f"<{link}|Open the plan>"}})
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": escaped, "mrkdwn": False, "blocks": blocks}


def _write_for_teams(text: str, link: str) -> dict[str, Any]:
    # A TextBlock would read Markdown; the runs of a RichTextBlock are plain.
    body = [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]} for line in text.split("\n")]
    actions = [{"type": "Action.OpenUrl", "title": "Open the plan", "url": link}] if link else []
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": actions,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _is_url(text: str) -> bool:
    try:
        return httpx2.URL(text).scheme in {"https", "http"}
    except httpx2.InvalidURL:
        return False
