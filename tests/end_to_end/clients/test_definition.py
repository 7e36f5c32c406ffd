"""What the tool's definition costs every conversation, in o200k tokens, against a stored figure.

After a change on purpose, write the figure the failing test names into `tests/end_to_end/clients/definition_tokens.txt`; if README.md or
docs/ name it, they are checked against the same file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import anyio
import pytest

from kubescript.changes.rules import table
from kubescript.toolsets import base
from tests.kit import clients, paths, tokens

ROOT = paths.ROOT
STORED = Path(__file__).with_name("definition_tokens.txt")
MOST = 800
MOST_OF_MANY = 860
"""With twelve clusters."""


def definition(flags: list[str]) -> str:
    """All tools as a client gets them: name, title, description, schemas, annotations."""
    got: list[str] = []

    async def ask() -> None:
        async with clients.connect("memory", flags) as client:
            for tool in (await client.list_tools()).tools:
                wire = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                got.append(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))

    anyio.run(ask)
    return "\n".join(got)


def test_the_definition_costs_what_is_stored(capsys: pytest.CaptureFixture[str]) -> None:
    """At most 800 tokens, and not one more or less than the stored figure: growth is a decision."""
    count = tokens.count(definition(["--snapshot", str(paths.ONE_NAMESPACE)]))
    with capsys.disabled():
        print(f"\nthe tool's definition: {count} o200k tokens (stored: {STORED.read_text().strip()}, at most {MOST})")
    assert count <= MOST
    assert count == int(STORED.read_text()), f"the definition has {count} tokens now; write that into {STORED.name}"


KEYS = '[[denied_resources]]\ngroup = ""\nkind = "Secret"\nserve = "keys"\n'
OF_SECRETS = {
    "": "Secrets come as metadata, without values, key names or type;",
    KEYS: "Secrets come as metadata, type and key names (for secretKeyRef), values masked;",
    f'{KEYS}[[denied_resources]]\ngroup = ""\nkind = "Secret"\nserve = "metadata"': "metadata, without values, key names or type;",
}
"""Rules, and what a model is told of Secrets: what the strictest rule serves."""


@pytest.mark.parametrize("writes", ["off", "plan"])
@pytest.mark.parametrize("rules", OF_SECRETS)
def test_the_definition_says_what_is_served_of_secrets(rules: str, writes: str, tmp_path: Path) -> None:
    """A model learns whether it gets the keys of Secrets, by the rules in force, within the same number of tokens."""
    config = tmp_path / "kubescript.toml"
    config.write_text(f'writes = "{writes}"\n{rules}')
    text = definition(["--snapshot", str(paths.ONE_NAMESPACE), "--config", str(config)])
    assert OF_SECRETS[rules] in text
    assert tokens.count(text) <= MOST + (60 if writes == "plan" else 0)


SOURCES = {"prom": "prometheus", "am": "alertmanager", "logs": "loki", "traces": "tempo"}
MORE_SOURCES = {f"prom-region-{n}": "prometheus" for n in range(9)}


@pytest.mark.parametrize("given", [SOURCES, SOURCES | MORE_SOURCES, {"am": "alertmanager"}], ids=["all", "many", "one"])
def test_sources_cost_at_most_ninety_tokens(given: dict[str, str], tmp_path: Path) -> None:
    """The sentence names the globals of the configured kinds, and how further sources are reached; without a source
    there is none."""
    config = tmp_path / "kubescript.toml"
    tables = [f'[sources.{name}]\nkind = "{kind}"\nurl = "http://127.0.0.1:1"\n' for name, kind in given.items()]
    config.write_text("".join(tables))
    flags = ["--snapshot", str(paths.ONE_NAMESPACE)]
    text, without = definition([*flags, "--config", str(config)]), definition(flags)
    assert tokens.count(text) - tokens.count(without) <= 90
    named = {"prometheus": "prom (", "alertmanager": "alertmanager (", "loki": "loki (", "tempo": "tempo ("}
    for kind, word in named.items():
        assert (word in text) == (kind in given.values()) and word not in without
    assert ("k8s.source(name): prom-region-0, …" in text) == (given == SOURCES | MORE_SOURCES)


USUAL = [f"{place}-{area}" for place in ("prod", "staging", "edge") for area in ("eu-west-1", "us-east-1", "ap", "lab")]
CLOUDS = [f"gke_my-project-123_europe-west{number}_prod-cluster" for number in range(12)]
ADMINS = [f"kubernetes-admin@cluster-{number}" for number in range(12)]


STRICT = "".join(f'"{rule.id}" = "refuse"\n' for rule in table.RULES)
LAX = "".join(f'"{rule.id}" = "allow"\n' for rule in table.RULES)
WRITING = {
    'writes = "plan"': "Never planned: exec, Secrets, cluster-wide rights, escalating roles, webhooks, status.",
    'writes = "direct"': "Refused: exec, Secrets, cluster-wide rights, Roles, escalating roles, webhooks and more.",
    f'writes = "plan"\n[write_policy.levels]\n{STRICT}': "Never planned: exec, Secrets, cluster-wide rights, Roles, esc",
    f'writes = "plan"\n[write_policy.levels]\n{LAX}': "Never planned: exec. ",
    'writes = "plan"\napproval = "argument"': "Never planned: exec, Secrets, cluster-wide rights, Roles, esc",
}
"""Settings, and what a model is told of writes that are not made."""


@pytest.mark.parametrize("given", WRITING)
def test_writing_costs_at_most_sixty_tokens(given: str, tmp_path: Path) -> None:
    """What a model must know of writes fits into sixty tokens more than a read-only server's definition, also what is
    refused by the levels in force."""
    config = tmp_path / "kubescript.toml"
    config.write_text(given)
    flags = ["--snapshot", str(paths.ONE_NAMESPACE)]
    text = definition([*flags, "--config", str(config)])
    assert WRITING[given] in text
    argument = tokens.count(json.dumps({"approved": base.APPROVED})) if "argument" in given else 0
    assert tokens.count(text) - tokens.count(definition(flags)) - argument <= 60


@pytest.mark.parametrize("writable", [0, 2, 12])
@pytest.mark.parametrize("names", [USUAL, CLOUDS, ADMINS, USUAL[:2]], ids=lambda names: names[0])
def test_a_dozen_clusters_fit_into_the_definition(names: list[str], writable: int, tmp_path: Path) -> None:
    """At most 860 tokens with twelve clusters of usual names: what does not fit is behind `k8s.contexts()`."""
    entries = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names]
    cluster, user = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}, {"name": "u", "user": {"token": "t"}}
    kubeconfig = {"contexts": entries, "clusters": [cluster], "users": [user], "current-context": names[0]}
    (tmp_path / "kubeconfig").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **kubeconfig}))
    tables = [f'[contexts."{name}"]\nread_only = {str(n >= writable).lower()}\n' for n, name in enumerate(names)]
    config = tmp_path / "kubescript.toml"
    config.write_text(f'kubeconfig = "{tmp_path}/kubeconfig"\n' + "".join(tables))
    text = definition(["--config", str(config)])
    assert tokens.count(text) <= MOST_OF_MANY
    assert f"Clusters: {names[0]}, " in text and "for c in k8s.contexts()}" in text
    assert (f"… ({len(names)} in all)" in text) == (len(names) > 2)


def test_the_pages_name_the_stored_figure() -> None:
    """Where README or docs say what the definition costs, they say the stored figure, or the limit."""
    named = re.compile(r"definition[^.|\n]{0,80}?\b(?<!,)(\d{3,4})\b(?: o200k)? tokens")
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        figures = {int(found[1]) for found in named.finditer(page.read_text("utf-8"))}
        assert figures <= {int(STORED.read_text()), MOST}, page.name


@pytest.mark.parametrize(
    ("text", "count"),
    [("hello world", 2), ("kubernetes.io/hostname", 5), ("CrashLoopBackOff", 4), ("שלום", 1), ("", 0)],
)
def test_the_counter_counts_as_the_vocabulary_does(text: str, count: int) -> None:
    """Figures of gpt-tokenizer's o200k_base, so that the counter itself is checked."""
    assert tokens.count(text) == count
