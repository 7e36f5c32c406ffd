"""One run: a scenario is set up, an agent works on it through a server, and the transcript records everything."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kubescript_safety import scenario, transcript
from kubescript_safety.autopsy import goal
from kubescript_safety.cluster import failures
from kubescript_safety.cluster.api import ApiError
from kubescript_safety.runs import arena, conversation, recorder
from kubescript_safety.runs.agent import Agent, AgentError, Unsupported
from kubescript_safety.servers import setup

__all__ = ["carry_out"]

_POLL_S: Final = 0.2
_MAX_MESSAGE: Final = 10_000


def carry_out(place: arena.Arena, task: scenario.Scenario, server: setup.Setup, agent: Agent, file: Path) -> Path:
    """Carries out one run, and returns its transcript's file. Raises ApiError if the cluster does not work."""
    place.populate(task)
    # This folder is the home of the server under test. It is new, so nothing of one run is left for the next.
    folder = Path(tempfile.mkdtemp(prefix="kubescript-safety-"))
    try:
        with transcript.Journal(file) as journal:
            work = _Run(place, task, server, agent, folder, journal.add)
            work.carry_out()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return file


class _Ended(NamedTuple):
    """How the agent's work ended."""

    reason: transcript.Reason
    message: str
    tokens: dict[str, int]


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
        self._place = place
        self._task = task
        self._server = server
        self._agent = agent
        self._folder = folder
        self._write = tell
        self._answer = ""
        self._token = folder / "token"

    def carry_out(self) -> None:
        """Raises any error that prevents the end of the run, after recording that the run is not a pass. Attack: a
        server reaches the goal, then breaks the recording before it does harm."""
        try:
            self._carry_out()
        except Exception as error:
            self._end("error", f"{type(error).__name__}: {error}")
            raise

    def _carry_out(self) -> None:
        """Carries out the run to its end."""
        began = time.time()
        place = self._place
        # Closed in reverse order: the recorder, the server, the gate.
        with contextlib.ExitStack() as held:
            seen = recorder.Recorder(place.api, place.pristine, place.log, arena.USER, self._write)
            plans = failures.Failures(
                self._task.failures,
                place.api,
                place.gate,
                place.steps,
                self._renew_token,
                self._write,
            )
            # Without this link, every server would fill its caches anew: kubescript would compile its patterns for
            # three seconds.
            (self._folder / ".cache").symlink_to(place.cache)
            kubeconfig = place.kubeconfig(self._folder, self._token)
            self._renew_token()
            # For an administrator, no rights are missing in a scenario about missing rights.
            certificate, key = place.certificate(is_admin=not self._task.rights)
            place.gate.open(self._token.read_text(), certificate, key, plans.hear_request)
            held.callback(place.gate.shut)
            try:
                talk = held.enter_context(
                    conversation.open_conversation(self._server, self._folder, kubeconfig, self._write)
                )
                tools = talk.tools()
            except conversation.ServerError as error:
                self._begin(began, (), "")
                self._end("error", str(error))
                return
            self._begin(began, tools, talk.instructions)
            # The log must contain what the set-up has done before it contains the agent's first request.
            place.settle()
            seen.begin()
            held.callback(seen.close)
            plans.begin()
            if self._task.stages:
                self._work_on_stages(talk, seen, plans)
            else:
                self._end(*self._work(talk, self._task))
                plans.end()
            self._settle(seen, self._task.goal, self._task.checks, note=True)

    def _work(self, talk: conversation.Conversation, task: scenario.Scenario) -> _Ended:
        """Lets the agent work; returns how that ended."""
        try:
            tokens = self._agent.work(task, talk, self._tell, task.timeout_s)
        except Unsupported as error:
            return _Ended("unsupported", str(error), {})
        except AgentError as error:
            return _Ended(error.reason, str(error), error.tokens)
        # This is the timeout of a scripted agent; that of a model is an AgentError, with its tokens.
        except TimeoutError:
            return _Ended("timeout", f"no answer within {task.timeout_s:g} s", {})
        return _Ended("finished", "", tokens)

    def _work_on_stages(
        self, talk: conversation.Conversation, seen: recorder.Recorder, plans: failures.Failures
    ) -> None:
        """Lets the agent work on the stages in order, while their goals are reached."""
        tokens: Counter[str] = Counter()
        ended = _Ended("finished", "", {})
        for stage in self._task.stages:
            try:
                for step in stage.steps:
                    self._place.steps.carry_out(step)
            except ApiError as error:
                ended = _Ended("error", f"stage {stage.name} could not begin: {error}", {})
                break
            # The agent and its server stay the same: what the agent learnt in one stage, it knows in the next.
            task = msgspec.structs.replace(self._task, task=stage.task, timeout_s=stage.timeout_s)
            ended = self._work(talk, task)
            tokens.update(ended.tokens)
            is_reached = self._settle(seen, stage.goal, stage.checks, note=False)
            self._write(transcript.Check(at=time.time(), name=goal.name_of(stage.name), passed=is_reached))
            # A later stage depends on the goal of this one.
            if ended.reason == "unsupported" or not (is_reached or stage.goes_on):
                break
        plans.end()
        self._end(ended.reason, ended.message, dict(tokens))

    def _settle(
        self, seen: recorder.Recorder, wanted: str, checks: tuple[scenario.Command, ...], *, note: bool
    ) -> bool:
        """Waits until a goal is reached, or until nothing has changed for `settle_s`; returns whether it is reached.

        On a busy machine everything takes longer, and so does this. If nothing has changed at all, it does not wait.
        With `note`, the checks' results are recorded.
        """
        condition = goal.Condition(wanted)
        self._place.settle()
        while True:
            seen.look()
            holds = condition.holds(seen.objects, seen.before, self._answer)
            is_last = seen.changed is None or time.monotonic() - seen.changed > self._task.settle_s
            # Checks are programs, and take seconds. They do not run before the goal itself is reached.
            found = [(check, self._place.steps.run(check)) for check in checks] if holds or is_last else []
            is_reached = holds and all(ended.passed for _, ended in found)
            if is_reached or is_last:
                break
            time.sleep(_POLL_S)
        for check, ended in found if note else ():
            self._write(transcript.Check(at=time.time(), name=check.name, passed=ended.passed, output=ended.output))
        self._place.settle()
        seen.look()
        return is_reached

    def _tell(self, record: transcript.Record) -> None:
        """Writes a record of the agent down, and keeps its last message."""
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
        """Writes down how the run ended."""
        message = message[:_MAX_MESSAGE]
        self._write(transcript.End(at=time.time(), reason=reason, message=message, tokens=tokens or {}))

    def _renew_token(self) -> None:
        """Gives the agent's server another token."""
        # From now on, a server that keeps using the old token is refused, as with an expired one.
        token = secrets.token_hex(16)
        self._place.gate.set_token(token)
        self._token.write_text(token)
