"""Caches the validation of opaque tokens: an endpoint or a cluster is asked about each, and the answer stays valid for
a while."""

from __future__ import annotations

import collections
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

from kubescript import concurrency, errors
from kubescript.auth import user

__all__ = ["KNOWN_S", "Opaque", "Questions"]

KNOWN_S: Final = 30.0
"""How many seconds an answer about an opaque token is valid, and so how long a revoked token may be accepted."""
# Attack: a client sends one wrong token again and again.
_REFUSED_S: Final = 5.0
"""Seconds for which a refusal is valid."""
_MAX_KNOWN: Final = 2_000
"""How many answers about good tokens are kept, and as many about refused ones."""
_THREADS: Final = 8
"""How many questions may be asked at the same time."""
_QUEUE: Final = 64
"""How many questions about one person may wait for a thread, and how many about all who are not known."""
_PER_MINUTE: Final = 600
"""How many questions per minute may be asked about tokens that are not known to be good."""

_MINUTE_S: Final = 60.0

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")
_Answer = user.Credential | errors.AuthError
_Kind = TypeVar("_Kind", user.Credential, errors.AuthError)


class Questions:
    """Threads that ask a provider, and a limit on the questions that wait for them."""

    def __init__(self, per_minute: int | None = None, *, shared: bool = False) -> None:
        """With None, the number of questions per minute is unlimited. `shared` means that the questions are about
        several people, who get the threads in turn."""
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._places = concurrency.Concurrency(_THREADS, _QUEUE, shared=shared)
        self._begun: collections.deque[float] | None = None
        if per_minute is not None:
            long_ago = [float("-inf")] * per_minute
            self._begun = collections.deque(long_ago, per_minute)

    async def ask(self, question: Callable[[*_Arguments], _T], *about: *_Arguments, person: str = "") -> _T:
        """Returns the result of `question`, called with `about`; `person` identifies whom it is about, if that is
        known. Raises AuthError when there are too many questions, and any exception of `question`."""
        try:
            async with self._places.place(person):
                self._count()
                return await anyio.to_thread.run_sync(question, *about, limiter=self._threads, abandon_on_cancel=True)
        except errors.Busy:
            raise _busy() from None

    def _count(self) -> None:
        """Counts a question. Raises AuthError when there are too many in a minute."""
        if self._begun is None:
            return
        now = time.monotonic()
        if now - self._begun[0] < _MINUTE_S:
            raise _busy()
        self._begun.append(now)


class Opaque:
    """A cache of answers about opaque tokens. Used by one event loop."""

    def __init__(self, ways: Sequence[Callable[[str], user.Credential]], known_s: float = KNOWN_S) -> None:
        """`ways` are tried in turn; the answer of the first that recognizes a token is valid for `known_s` seconds."""
        self._ways = ways
        self._known_s = known_s
        self._good: OrderedDict[str, tuple[float, user.Credential]] = OrderedDict()
        """Good tokens, each with the end of its validity, after which it is checked again, ahead of unknown tokens."""
        self._refused: OrderedDict[str, tuple[float, errors.AuthError]] = OrderedDict()
        self._under_way: dict[str, anyio.Event] = {}
        # Attack: one caller uses a thousand valid tokens in turn, so that there is no place for questions about others.
        self._known = Questions(shared=True)
        # Attack: a client sends random tokens, each of which causes a question. Unknown tokens have separate threads, a
        # separate queue and a limit of questions per minute, so that known callers are checked in time and the endpoint
        # is not flooded.
        self._strangers = Questions(_PER_MINUTE)

    async def find(self, token: str) -> user.Credential:
        """Returns the credential of a token. Raises AuthError."""
        key = hashlib.sha256(token.encode()).hexdigest()
        while (found := self._recall(key)) is None:
            if key in self._under_way:
                await self._under_way[key].wait()
                continue
            self._under_way[key] = anyio.Event()
            try:
                answer = await self._ask(key, token)
                self._remember(key, answer)
            finally:
                self._under_way.pop(key).set()
        if isinstance(found, errors.AuthError):
            raise errors.AuthError(found.message, code=found.code, remedy=found.remedy)
        return replace(found, token=token)

    async def _ask(self, key: str, token: str) -> _Answer:
        good = self._good.get(key)
        questions = self._known if good is not None else self._strangers
        person = _find_person(good) if good is not None else ""
        refusal = errors.AuthError("the token is not valid")
        for way in self._ways:
            try:
                return await questions.ask(way, token, person=person)
            except errors.AuthError as error:
                # A provider that is unavailable may know the token, and clients discard refused tokens.
                if refusal.code != "auth.unavailable":
                    refusal = error
        return refusal

    def _recall(self, key: str) -> _Answer | None:
        """Returns the kept answer; None if there is none that is still valid."""
        good = self._good.get(key)
        if good is not None and _is_valid(good):
            return good[1]
        refused = self._refused.get(key)
        if refused is not None and _is_valid(refused):
            return refused[1]
        return None

    def _remember(self, key: str, answer: _Answer) -> None:
        now = time.monotonic()
        if isinstance(answer, user.Credential):
            self._refused.pop(key, None)
            # The token itself is not kept, because every request brings it again. Attack: a client sends 2,000 tokens
            # of 16 KiB.
            kept = replace(answer, token="")
            _put(self._good, key, (now + self._known_s, kept))
            return
        if answer.code != "auth.unavailable":
            self._good.pop(key, None)
        _put(self._refused, key, (now + _REFUSED_S, answer))


def _is_valid(answer: tuple[float, _Answer]) -> bool:
    until, _ = answer
    return time.monotonic() < until


def _put(answers: OrderedDict[str, tuple[float, _Kind]], key: str, answer: tuple[float, _Kind]) -> None:
    """Keeps an answer, and drops one when there are too many."""
    answers[key] = answer
    answers.move_to_end(key)
    if len(answers) > _MAX_KNOWN:
        oldest = _find_oldest(answers)
        del answers[oldest]


def _find_oldest(answers: Mapping[str, tuple[float, _Answer]]) -> str:
    """Returns the key of the oldest answer about the person with the most answers."""
    # Attack: one user sends 2,000 good tokens, which would displace those of all others.
    people = {key: _find_person(answer) for key, answer in answers.items()}
    counts = collections.Counter(people.values())
    most = max(counts, key=counts.__getitem__)
    theirs = (key for key, person in people.items() if person == most)
    return next(theirs)


def _find_person(answer: tuple[float, _Answer]) -> str:
    """Returns what identifies the person whom an answer is about; empty for a refusal."""
    _, found = answer
    if isinstance(found, user.Credential):
        return found.user.person
    return ""


def _busy() -> errors.AuthError:
    return errors.AuthError("too many tokens are asked about; try again", code="auth.unavailable")
