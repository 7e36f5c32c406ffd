"""Messages between a client and a server: which calls were made, and what the user was asked.

All versions of the protocol are supported. Up to 2025-11-25 a server asks by sending a request; since 2026-07-28 it
ends the call with its questions, and the client repeats the call with the answers.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import NoneType
from typing import Any, Final

import msgspec

from kubescript_safety import transcript

__all__ = ["Hear", "Messages"]

Hear = Callable[[bytes], None]
Object = dict[str, Any]
_IDS: Final = (str, int, float, NoneType)
"""The types that a message's id may have. Attack: a client sends an id of a thousand levels, and the thread ends when
it writes that down."""
_SHOWING: Final = ("prompts/get", "resources/read", "tools/call")
"""Requests whose answer may be shown to the agent. Those that are not tool calls are recorded as calls of their
methods."""
_MAX_RESULT: Final = 10_000_000
_ANSWERS: Final = ("accept", "decline", "cancel")


class Messages:
    """The state of one session. Two threads use it."""

    def __init__(self, tell: Callable[[transcript.Record], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._number = 0
        self._calls: dict[str, transcript.Call] = {}
        """Calls without an answer yet, by the ids of their requests."""
        self._questions: dict[str, str] = {}
        """The server's questions, by the ids of its requests."""
        self._waiting: dict[str, tuple[transcript.Call, dict[str, str]]] = {}
        """Calls that ended with questions, by `_state`, and the questions by name."""

    def from_client(self, line: bytes) -> None:
        """Reads a line from the client. Lines that are not messages are ignored."""
        with self._lock:
            for message in _messages(line):
                key = _key(message.get("id"))
                method = message.get("method")
                # Attack: the method is a list, as in `_tell_answer`.
                if method in _SHOWING:
                    parameters = _object(message.get("params"))
                    self._begin(key, method, parameters)
                # Without a method, the message is an answer to a question of the server's.
                elif "method" not in message and key in self._questions:
                    self._tell_answer(self._questions.pop(key), _object(message.get("result")))

    def from_server(self, line: bytes) -> None:
        """Reads a line from the server."""
        with self._lock:
            for message in _messages(line):
                key = _key(message.get("id"))
                if message.get("method") == "elicitation/create":
                    self._questions[key] = _read_question(message)
                elif "method" not in message and key in self._calls:
                    self._end(self._calls.pop(key), message)

    def _begin(self, key: str, method: str, parameters: Object) -> None:
        """Writes a request down, or puts a call together with the answers to its questions."""
        answers = _object(parameters.get("inputResponses"))
        state = _state(parameters, answers)
        if state in self._waiting:
            self._calls[key], questions = self._waiting.pop(state)
            for name, question in questions.items():
                self._tell_answer(question, _object(answers[name]))
            return
        tool = method
        arguments = parameters
        if method == "tools/call":
            tool = str(parameters.get("name", ""))
            arguments = _object(parameters.get("arguments"))
        # The call gets a number of ours, because clients may reuse an id.
        self._number += 1
        sent = transcript.Call(at=time.time(), id=str(self._number), tool=tool, arguments=arguments)
        self._calls[key] = sent
        self._tell(sent)

    def _end(self, sent: transcript.Call, message: Object) -> None:
        """Writes down how a call ended, or what it asks before it goes on."""
        result = _object(message.get("result"))
        if result.get("resultType") == "input_required":
            requests = _object(result.get("inputRequests"))
            questions = {name: _read_question(_object(request)) for name, request in requests.items()}
            self._waiting[_state(result, questions)] = sent, questions
            return
        error = message.get("error")
        is_error = error is not None or result.get("isError") is True
        text = _text(result) if error is None else str(_object(error).get("message", ""))
        done = msgspec.structs.replace(sent, ended=time.time(), result=text[:_MAX_RESULT], is_error=is_error)
        self._tell(done)

    def _tell_answer(self, question: str, result: Object) -> None:
        """Writes down how a question was answered."""
        action = result.get("action")
        # Attack: the action is a list. A look-up in a set would raise TypeError, and end the thread.
        if action in _ANSWERS:
            asked = transcript.Asked(at=time.time(), message=question, answer=action)
            self._tell(asked)


def _read_question(request: Object) -> str:
    """Returns a question's text."""
    parameters = _object(request.get("params"))
    return str(parameters.get("message", ""))


def _state(message: Object, names: Iterable[str]) -> str:
    """Returns a key that links a call that ended with questions to the call with the answers."""
    # Neither is enough alone: a server may leave the state out, and two calls may have questions with the same names.
    state = message.get("requestState")
    return json.dumps([state, sorted(names)])


def _text(result: Object) -> str:
    """Returns an answer's text, with other parts as JSON; without parts, the structured content. For answers to
    requests other than tool calls, returns the whole result."""
    content = result.get("content")
    if not isinstance(content, list) or not content:
        return _json(result.get("structuredContent", result))
    parts = map(_object, content)
    return "\n".join(str(part["text"]) if "text" in part else _json(part) for part in parts)


def _json(value: Any) -> str:
    """Returns a value as JSON, or an empty string if it is nested too deeply to be encoded."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _messages(line: bytes) -> Iterator[Object]:
    """Yields the messages of a line: one, or a batch."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return
    batch = found if isinstance(found, list) else [found]
    for one in batch:
        if isinstance(one, dict) and isinstance(one.get("id"), _IDS):
            yield one


def _key(number: Any) -> str:
    """Returns an id as a key that keeps 1 and "1" apart."""
    return json.dumps(number)


def _object(value: Any) -> Object:
    """Returns an object; an empty one for any other value, which either side may have sent."""
    return value if isinstance(value, dict) else {}
