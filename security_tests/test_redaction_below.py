"""What stands below a credential's name is secret, in whatever order and however it is written; each of these leaked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

import pytest

from security_tests.redaction import engine, floods

pytestmark = pytest.mark.repeatable

Count = Callable[..., None]
MARKED: Final = re.compile("«(.*?)»")

TEXTS: Final = (
    "- --password\n- «Zk8wQ2vT»\n- --user\n- root",
    "passwords:\n- «Zk8wQ2vT»\n- «qo7Pm2xB»\nuser: root",
    "api_keys:\n  - «Zk8wQ2vTq1»\n  - «qo7Pm2xBz8»\nregion: eu-west-1",
    "tokens:\n  ci: «Zk8wQ2vTq1»\n  deploy: «qo7Pm2xBz8»\n  kind: jwt\nname: web",
    "db_password:\n  description: of the database\n  default: «Zk8wQ2vT»\n  sensitive: true",
    "client_secret: # of the portal\n  value: '«Zk8wQ2vT'»\nport: 5432".replace("'»", "»'"),
    "auth:\n  passwords: [«Zk8wQ2vT9», «qo7Pm2xB3»]\n  users: [alice, bob]",
)
OBJECTS: Final = (
    {"config": {"db_password": {"sensitive": True, "type": "string", "value": "«Zk8wQ2vT»"}}},
    {"config": {"db_password": {"description": "of the database", "default": "«Zk8wQ2vT»"}}},
    {"config": {"api_token": {"type": "plain", "content": "«Zk8wQ2vTq1»"}}},
    {"tokens": {"ci": "«Zk8wQ2vTq1»", "deploy": "«qo7Pm2xBz8»", "id": "3b1c7f52-94d0-4e6a-8f1b-2a6d5c9e7f10"}},
    {"data": {"values.yaml": "auth:\n  passwords:\n  - «Zk8wQ2vT»\n  - «qo7Pm2xB»\n"}},
)
HARMLESS: Final = (
    "imagePullSecrets:\n- name: registry\nsecrets:\n- web-tls\n- db-credentials",
    "passwords:\n  policy: strong\n  length: 12",
    "secretKeyRef:\n  name: db\n  key: password",
    '"tokens": {"name": "ci", "type": "jwt"}',
    "'password' => ['required', 'string', 'min:12']",
    "volumes:\n- secret:\n    secretName: web-tls\n    items: [{key: tls.key, path: tls.key}]",
)


def without_marks(text: str) -> str:
    return re.sub("[«»]", "", text)


@pytest.mark.promise("S-01")
def test_what_stands_below_a_name_is_masked(attacks: Count) -> None:
    """As a file, as a log and as an object; the rest stays."""
    masking = engine.fresh()
    attacks(2 * len(TEXTS) + len(OBJECTS))
    objects = [json.dumps(each, ensure_ascii=False) for each in OBJECTS]
    for text in (*TEXTS, *objects):
        masked = [masking.text(without_marks(text), lambda _: None)]
        if text in TEXTS:
            masked.append(engine.masked(masking, floods.log(without_marks(text).encode() + b"\n")).decode())
        for each in masked:
            assert not [secret for secret in MARKED.findall(text) if secret in each], each
            shown = re.sub("«redacted:[^»]*»", "«»", each).rstrip("\n")
            assert shown == MARKED.sub("«»", text), each


@pytest.mark.promise("S-02")
def test_what_only_tells_of_secrets_stays() -> None:
    """Names, kinds, rules and addresses below such a name."""
    masking = engine.fresh()
    for text in HARMLESS:
        assert masking.text(text, lambda _: None) == text
        assert engine.masked(masking, floods.log(text.encode() + b"\n")).decode() == text + "\n"
