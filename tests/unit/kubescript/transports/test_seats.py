"""Seats that are opened while the server's settings change."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from kubescript import app, tenant
from kubescript.auth import user
from kubescript.transports import ending, scope_keys, seats
from tests.kit import clients, trails


def test_a_seat_has_the_settings_in_force_when_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload waits for no opening; one that it overtakes is done again, and none is left out."""
    opens, has_begun, may_end = app.Application.tenant, anyio.Event(), threading.Event()

    def slow(own: app.Application, *rest: Any) -> Any:
        made = opens(own, *rest)
        if not has_begun.is_set():
            anyio.from_thread.run_sync(has_begun.set)
            may_end.wait(60)
        return made

    monkeypatch.setattr(app.Application, "tenant", slow)
    tokens = tmp_path / "tokens"
    tokens.write_text("token-of-bob-0123456789,bob,u-bob\n")
    tokens.chmod(0o600)
    (tmp_path / "settings.toml").write_text(f'[auth]\ntokens_file = "{tokens}"\n')
    flags = ("--snapshot", str(trails.snapshot(tmp_path)), "--config", str(tmp_path / "settings.toml"))
    bob = user.Credential(user.User("bob", "tokens_file", "u-bob"), None)
    scope = {"type": "http", "headers": [], scope_keys.CREDENTIAL: bob}

    async def run(opened: app.Application) -> None:
        seating = seats.Seats(opened, 1 << 20, 100, 100, ending.Ending())
        taken = []

        async def take() -> None:
            async with seating.take(scope) as seat:
                taken.append(seat.tenant)

        newer = opened.settings.model_copy(update={"log_level": "debug"})
        async with seating.run():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(take)
                await has_begun.wait()
                await seating.reload(newer)
                may_end.set()
            await take()
        first, second = taken
        assert first is second
        assert isinstance(first, tenant.Tenant)
        assert first.settings.log_level == "debug"

    with clients.application((*flags, "--transport", "http")) as opened:
        anyio.run(run, opened)
