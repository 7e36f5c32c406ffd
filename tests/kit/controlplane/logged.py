"""An API server that keeps an audit log, one for all processes of a test run: who asks looks at a namespace of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from kubescript_safety.controlplane import audit
from tests.kit import patience
from tests.kit.controlplane import shared
from tests.kit.controlplane.server import ControlPlane

__all__ = ["Logged", "attach"]


@dataclass(frozen=True)
class Logged:
    """The server and its log."""

    plane: ControlPlane
    log: audit.Log

    def writes(self, user: str, namespace: str) -> list[audit.Event]:
        """What a user has sent to change something in a namespace."""
        self.log.settle(self.plane)
        return self.log.writes(user, namespace)

    def answer(self, user: str, audit_id: str) -> audit.Event:
        """How a write was answered; waits for it."""
        deadline = time.monotonic() + patience.scaled(60)
        while True:
            for event in self.log.writes(user):
                if event.audit_id == audit_id:
                    return event
            assert time.monotonic() < deadline, "the request was not answered"
            time.sleep(0.02)


def attach(folder: Path, run: int) -> Logged:
    """Returns it, started if it is the first time; see `shared.attach`."""
    return Logged(shared.attach("logged", folder, run), audit.Log(folder))
