"""helm_repo_list reads a file of the operator's on the host, which may hold passwords: what leaves of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
import pytest
import yaml

from kubescript.cli import demo
from tests.kit import clients

Count = Callable[[int], None]

SECRET: Final = "hunter22xyz"
TOKEN: Final = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
URLS: Final = (
    f"https://robot:{SECRET}@charts.example.com/x",
    f"https://{SECRET}@charts.example.com/x",
    f"robot:{SECRET}@charts.example.com/x",
    f"robot:a://{SECRET}@charts.example.com/x",
    f"https:/robot:{SECRET}@charts.example.com/x",
    f"https:\\\\robot:{SECRET}@charts.example.com/x",
    f"//robot:{SECRET}@charts.example.com/x",
    f"https://robot:a/{SECRET}@charts.example.com/x",
    f"https://robot:a?{SECRET}@charts.example.com/x",
    f"https://robot:a#{SECRET}@charts.example.com/x",
    f"https://robot:a@{SECRET}@charts.example.com/x",
    f"https://robot:a://{SECRET}@charts.example.com/x",
    f"https://charts.example.com/x?t={SECRET}",
    f"https://charts.example.com/x#{SECRET}",
    f"https://charts.example.com/{TOKEN}/x",
    {"password": SECRET},
    [SECRET],
)
"""What a person may write into `url`, with a password that a parser of URLs does not find in each."""
BROKEN: Final = (
    "repositories: " + "[" * 100_000,
    "repositories: " + "[" * 100_000 + "]" * 100_000,
    "repositories:\n" + "- {name: x, url: 'http://h'}\n" * 40_000,
    f"repositories: [{{name: x, url: {SECRET}",
)
"""Files that are damaged, or larger than any list of repositories."""


@pytest.mark.promise("S-08")
def test_no_password_leaves_the_list_of_repositories(tmp_path: Path, attacks: Count) -> None:
    """In no form of the answer; the next call works after each file that cannot be read."""
    attacks(len(URLS) + len(BROKEN))
    file = tmp_path / "repositories.yaml"
    entries = [{"name": f"r{number}", "url": url, "password": SECRET} for number, url in enumerate(URLS)]
    good = yaml.safe_dump({"repositories": entries})
    flags = ("--toolsets", "helm", "--snapshot", str(demo.SNAPSHOT))
    variables = {"HELM_REPOSITORY_CONFIG": str(file)}

    async def ask() -> None:
        async with clients.connect("memory", flags, environment=variables) as client:
            for text, output in [
                *((good, form) for form in ("table", "json", "yaml")),
                *((each, "table") for each in BROKEN),
            ]:
                file.write_text(text)
                said = clients.whole(await client.call_tool("helm_repo_list", {"output": output}))
                assert SECRET not in said and TOKEN not in said, said
            file.write_text(good)
            listed = json.loads(clients.text(await client.call_tool("helm_repo_list", {"output": "json"})))
            assert [each["name"] for each in listed] == [f"r{number}" for number in range(len(URLS))]

    anyio.run(ask)
