"""Mistakes in a source's settings end the start, with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubescript import config, errors
from tests.kit import paths

URL = 'url = "http://prometheus:9090"'
SERVICE = 'service = "monitoring/prometheus-k8s:9090"'
MISTAKES = [
    ("", "give either `url` or `service`"),
    (f"{URL}\n{SERVICE}", "give either `url` or `service`"),
    *((f'url = "{url}"', "http(s)://host:port/prefix") for url in (
        "prometheus:9090", "http://h:99999", "http://u:p@h", "http://h/?a=b", "http://h h", "ftp://h", "http://",
    )),
    ('url = "http://h/prometheus/api/v1/"', "leave out '/api/v1/'"),
    ('url = "http://h/loki/api/v1"', "leave out '/loki/api/v1'"),
    *((f'service = "{service}"', "namespace/name:port, or namespace/https:name:port") for service in (
        "prometheus:9090", "monitoring/prometheus", "https:monitoring/prometheus:web", "monitoring/p:9090/../x", "a/b:9\\n",
    )),
    (f'{SERVICE}\ntoken_file = "/token"', "passes no credentials or tenant on"),
    (f'{SERVICE}\ntenant = "shop"', "passes no credentials or tenant on"),
    (f'{URL}\nauth = "server"\ntoken_file = "/token"', "one of `auth`, `token_file` and `basic_auth_file`"),
    (f'{URL}\ncert_file = "/tls.crt"', "belong together"),
    (f'{URL}\naudience = "prometheus"', 'it needs `auth = "caller"`'),
    (f'{URL}\ntenant = "a\\r\\nHost: b"', "a tenant's name, or several"),
    (f'{URL}\ntennant = "a"', "did you mean `tenant`?"),
]  # fmt: skip
RIGHT = [
    'url = "http://mimir:8080/prometheus/"',
    'url = "https://[fd00::1]:9091"\nauth = "caller"\naudience = "prometheus"',
    'url = "https://loki.example.com"\ntenant = "a|b"\ntenancy = "source"\ntoken_file = "/token"\nca_file = "/ca"',
    f'{SERVICE}\nauth = "server"',
    'service = "monitoring/https:thanos-querier:web"',
]


def load(folder: Path, text: str, before: str = "", kind: str = "prometheus") -> config.Source:
    """The source of these settings. Raises ConfigError."""
    file = folder / "server.toml"
    file.write_text(f'{before}\n[sources.metrics]\nkind = "{kind}"\n{text}\n')
    return config.load({}, file).sources["metrics"]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_names_the_setting_and_what_to_write(tmp_path: Path, text: str, said: str) -> None:
    """Nothing of it is sent anywhere."""
    with pytest.raises(errors.ConfigError) as caught:
        load(tmp_path, text)
    assert "`sources.metrics" in caught.value.message and said in caught.value.message


@pytest.mark.parametrize("text", RIGHT)
def test_what_operators_write_is_taken(tmp_path: Path, text: str) -> None:
    """A prefix loses the slash at its end, so that no path has two."""
    source = load(tmp_path, text)
    assert source.service or (source.url and not source.url.endswith("/"))


def test_a_token_of_one_cluster_is_for_its_own_source(tmp_path: Path) -> None:
    """With several clusters, a source that gets tokens belongs to one of them."""
    clusters = "[contexts.east]\n[contexts.west]"
    with pytest.raises(errors.ConfigError, match="must be in the table of one context"):
        load(tmp_path, f'{URL}\nauth = "server"', clusters)
    assert load(tmp_path, URL, clusters).auth == "none"


def test_the_default_cluster_s_sources_come_first(tmp_path: Path) -> None:
    """The global `prom` of scripts is a source of the cluster that `k8s` is."""
    file = tmp_path / "server.toml"
    tables = "".join(
        f'[contexts.{name}.sources.of-{name}]\nkind = "prometheus"\nurl = "http://{name}:9090"\n' for name in ("a", "b")
    )
    file.write_text(f'context = "b"\n{tables}')
    assert list(config.load({}, file).source_kinds) == ["of-b", "of-a"]


def test_no_proxy_shows_one_namespace_of_log_lines(tmp_path: Path) -> None:
    """Loki and Tempo ignore the parameter, so a caller limited to one namespace would read all."""
    tenancy = f'{URL}\ntenancy = "namespace"'
    for kind in ("loki", "tempo"):
        with pytest.raises(errors.ConfigError, match='use `tenancy = "source"`'):
            load(tmp_path, tenancy, kind=kind)
    for kind in ("prometheus", "alertmanager"):
        assert load(tmp_path, tenancy, kind=kind).tenancy == "namespace"


def test_the_settings_on_the_page_are_taken(tmp_path: Path) -> None:
    """Each block of docs/sources.md, as a reader copies it."""
    blocks = (paths.ROOT / "docs" / "sources.md").read_text("utf-8").split("```toml\n")[1:]
    file = tmp_path / "server.toml"
    for block in blocks:
        file.write_text(block.partition("```")[0])
        assert config.load({}, file).sources
    assert len(blocks) == 2
