"""The questions that wait at clients which come back with the answer (protocol 2026-07-28), with the scripts' answers.

A client may bring its person's decision to any replica. It gets a random token, of which the store has only a digest,
and with which the answer is sealed: who reads the store can neither answer a question nor read what its script has
found.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

import msgspec
from sqlalchemy import Connection, delete, func, insert, select

from kubescript import errors
from kubescript.auth import codes, seals
from kubescript.changes.store import limits, record
from kubescript.database import database, schema

__all__ = ["Questions"]

_QUESTIONS: Final = schema.QUESTIONS
_TOKEN_BYTES: Final = 32
# Attack: a caller makes plan after plan, each with an answer of 4 MiB, and never decides.
_MOST: Final = 64
"""How many questions one person may have; older ones can no longer be answered."""
_MOST_BYTES: Final = 32 << 20
"""The maximum size of one person's answers in bytes."""


# The decoder is made before any threads start: two threads that decode into a type simultaneously for the first time
# can crash msgspec 0.22.
_QUESTION: Final = msgspec.json.Decoder(record.Question)


class Questions:
    """The open questions of one server, or of all its replicas. Safe for use from many threads and processes."""

    def __init__(self, opened: database.Database, clock: Callable[[], float]) -> None:
        self._database = opened
        self._clock = clock

    def keep(self, question: record.Question, person: str, answer: bytes, expires: float) -> str:
        """Keeps a question until it expires, and returns the token with which its client comes back. The person's
        oldest questions are forgotten if there are too many; an answer that is too large is not kept. Raises
        PlanError."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        row = {
            "id": codes.digest(token),
            "person": person,
            "created": self._clock(),
            "expires": expires,
            "question": msgspec.json.encode(question),
            "answer": seals.seal(token, answer if len(answer) <= _MOST_BYTES else b""),
        }
        with self._database.writing() as connection:
            connection.execute(insert(_QUESTIONS).values(row))
            connection.execute(delete(_QUESTIONS).where(_QUESTIONS.c.expires <= self._clock()))
            _forget_oldest(connection, person)
        return token

    def find(self, token: str) -> tuple[record.Question, bytes]:
        """Returns the question of a token, and its script's answer, which may be empty. Raises PlanError: plan.session,
        .store."""
        query = select(_QUESTIONS.c.question, _QUESTIONS.c.answer)
        query = query.where(_QUESTIONS.c.id == codes.digest(token), _QUESTIONS.c.expires > self._clock())
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise errors.PlanError("there is no such question, or it has expired", code="plan.session")
        answer = seals.unseal(token, row.answer)
        if answer is None:
            raise _describe_change()
        try:
            return _QUESTION.decode(row.question), answer
        except msgspec.MsgspecError:
            raise _describe_change() from None


def _describe_change() -> errors.PlanError:
    return errors.PlanError("the question is not as it was written", code="plan.session")


def _forget_oldest(connection: Connection, person: str) -> None:
    size = func.length(_QUESTIONS.c.answer)
    query = select(_QUESTIONS.c.id, size).where(_QUESTIONS.c.person == person)
    # Questions of the same moment are ordered by id, so that the same ones are forgotten everywhere.
    newest_first = query.order_by(_QUESTIONS.c.created.desc(), _QUESTIONS.c.id)
    sizes = connection.execute(newest_first)
    beyond = limits.list_beyond(sizes, _MOST, _MOST_BYTES)
    if beyond:
        is_beyond = _QUESTIONS.c.id.in_(beyond)
        connection.execute(delete(_QUESTIONS).where(is_beyond))
