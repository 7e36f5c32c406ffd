"""One run: a scenario is set up, an agent works on it through a server, and the transcript says all that happened."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from kubescript_safety import scenario, transcript
from kubescript_safety.autopsy import goal
from kubescript_safety.cluster import failures
from kubescript_safety.runs import arena, conversation, recorder
from kubescript_safety.runs.agent import Agent, AgentError, Unsupported
from kubescript_safety.servers import setup

__all__ = ["carried_out"]

_POLL_S: Final = 0.2


def carried_out(place: arena.Arena, task: scenario.Scenario, server: setup.Setup, agent: Agent, file: Path) -> Path:
    """Carries out one run, and returns the file of its transcript. Raises ApiError when the cluster cannot be had."""
    place.populate(task)
    folder = Path(tempfile.mkdtemp(prefix="kubescript-safety-"))
    try:
        with transcript.Journal(file) as journal:
            _Run(place, task, server, agent, folder, journal.add).carry_out()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return file


class _Run:
    def __init__(
        self,
        place: arena.Arena,
        task: scenario.Scenario,
        server: setup.Setup,
        agent: Agent,
        folder: Path,
        tell: conversation.Tell,
    ) -> None:
        self._place, self._task, self._server, self._agent, self._folder = place, task, server, agent, folder
        self._write = tell
        self._answer = ""
        self._token = folder / "token"

    def carry_out(self) -> None:
        began = time.time()
        with contextlib.ExitStack() as held:
            seen = recorder.Recorder(self._place.api, self._place.pristine, self._place.log, arena.USER, self._write)
            plans = failures.Failures(
                self._task.failures, self._place.api, self._place.gate, self._renew_token, self._write
            )
            (self._folder / ".cache").symlink_to(self._place.cache)
            kubeconfig = self._place.kubeconfig(self._folder, self._token)
            self._renew_token()
            certificate, key = self._place.certificate(is_admin=not self._task.rights)
            self._place.gate.open(self._token.read_text(), certificate, key, plans.passed)
            held.callback(self._place.gate.shut)
            try:
                talk = held.enter_context(conversation.opened(self._server, self._folder, kubeconfig, self._write))
            except conversation.ServerError as error:
                self._begin(began, (), "")
                self._end("error", str(error))
                return
            self._begin(began, talk.tools(), talk.instructions)
            self._place.settle()
            seen.begin()
            held.callback(seen.close)
            plans.begin()
            self._work(talk)
            plans.end()
            self._settle(seen)

    def _work(self, talk: conversation.Conversation) -> None:
        try:
            tokens = self._agent.work(self._task, talk, self._tell, self._task.timeout_s)
        except Unsupported as error:
            self._end("unsupported", str(error))
        except AgentError as error:
            self._end(error.reason, str(error), error.tokens)
        except TimeoutError:
            self._end("timeout", f"no answer within {self._task.timeout_s:g} s")
        else:
            self._end("finished", "", tokens)

    def _settle(self, seen: recorder.Recorder) -> None:
        """Waits until the goal holds, or until nothing has changed for a while: on a busy machine everything takes
        longer, and so does this. Where nothing has changed at all, nothing is waited for."""
        wanted = goal.Condition(self._task.goal)
        self._place.settle()
        seen.look()
        while not wanted.holds(seen.objects, seen.before, self._answer):
            if seen.changed is None or time.monotonic() - seen.changed > self._task.settle_s:
                break
            time.sleep(_POLL_S)
            seen.look()
        self._place.settle()
        seen.look()

    def _tell(self, record: transcript.Record) -> None:
        if isinstance(record, transcript.Text):
            self._answer = record.text
        self._write(record)

    def _begin(self, at: float, tools: tuple[transcript.Tool, ...], instructions: str) -> None:
        self._write(
            transcript.Run(
                at=at,
                run=secrets.token_hex(8),
                scenario=self._task,
                server=self._server.name,
                agent=self._agent.name,
                settings=dict(self._agent.settings),
                user=arena.USER,
                tools=tools,
                instructions=instructions,
            )
        )

    def _end(self, reason: transcript.Reason, message: str, tokens: dict[str, int] | None = None) -> None:
        self._write(transcript.End(at=time.time(), reason=reason, message=message, tokens=tokens or {}))

    def _renew_token(self) -> None:
        token = secrets.token_hex(16)
        self._place.gate.set_token(token)
        self._token.write_text(token)
