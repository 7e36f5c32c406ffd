"""Settings: precedence, and errors that name the key."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from kubescript import config, errors
from kubescript.auth import access_rules, user


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBESCRIPT_CONFIG", raising=False)


def test_defaults_are_safe() -> None:
    """Without any setting nothing is served, nothing may be written, and the default denials hold."""
    settings = config.load({}, None)
    assert (settings.toolsets, settings.read_only, settings.deny_defaults) == ((), True, True)


def test_flags_beat_environment_beats_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting comes from the first of flag, variable and file that has it; an empty variable has none."""
    file = tmp_path / "kubescript.toml"
    file.write_text('context = "file"\nport = 1\nlog_level = "debug"\n[limits]\napi_calls = 7\ndepth = 100\n')
    monkeypatch.setenv("KUBESCRIPT_PORT", "2")
    monkeypatch.setenv("KUBESCRIPT_CONTEXT", "environment")
    monkeypatch.setenv("KUBESCRIPT_LIMITS__API_CALLS", "8")
    monkeypatch.setenv("KUBESCRIPT_LOG_LEVEL", "")
    settings = config.load({"context": "flag"}, file)
    assert (settings.context, settings.port, settings.log_level) == ("flag", 2, "debug")
    assert (settings.limits.api_calls, settings.limits.depth) == (8, 100)


def test_yaml_is_read_like_toml(tmp_path: Path) -> None:
    """A YAML file holds the same settings."""
    file = tmp_path / "kubescript.yaml"
    file.write_text("toolsets: [code]\ndenied_resources:\n- {group: apps, kind: Deployment}\n")
    settings = config.load({}, file)
    assert settings.toolsets == ("code",)
    assert settings.denied_resources[0].kind == "Deployment"


def test_toolsets_split_at_commas() -> None:
    """`--toolsets a, b` names two."""
    assert config.load({"toolsets": "code, helm"}, None).toolsets == ("code", "helm")


def test_the_file_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBESCRIPT_CONFIG names the file when no flag does."""
    file = tmp_path / "k.toml"
    file.write_text("port = 9\n")
    monkeypatch.setenv("KUBESCRIPT_CONFIG", str(file))
    assert config.load({}, None).port == 9


TABLES = "\n".join(
    f"[contexts.{name}]\n{setting}"
    for name, setting in {
        "direct": 'writes = "direct"',
        "plan": 'writes = "plan"',
        "off": 'writes = "off"',
        "open": "read_only = false",
        "closed": 'read_only = true\nwrites = "direct"',
        "silent": "",
    }.items()
)
"""Contexts, called after what their tables say."""
BOUNDS: dict[str, tuple[str, dict[str, object], dict[str, str], str]] = {
    "nothing is stated": ("", {}, {}, "direct plan off plan off off"),
    "the file says off": ('writes = "off"', {}, {}, "direct plan off off off off"),
    "a flag says off": ("", {"writes": "off"}, {}, "off off off off off off"),
    "a flag says plan": ("", {"writes": "plan"}, {}, "plan plan off plan off plan"),
    "a flag says direct": ("", {"writes": "direct"}, {}, "direct plan off direct off direct"),
    "a variable says off": ('writes = "direct"', {}, {"KUBESCRIPT_WRITES": "off"}, "off off off off off off"),
    "a variable says plan": ('writes = "direct"', {}, {"KUBESCRIPT_WRITES": "plan"}, "plan plan off plan off plan"),
    "a flag beats a variable": ("", {"writes": "direct"}, {"KUBESCRIPT_WRITES": "off"}, "direct plan off direct off direct"),
    "read-only beside it": ("", {"writes": "plan", "read_only": True}, {}, "off off off off off off"),
    "read-only in a variable": ("", {"writes": "plan"}, {"KUBESCRIPT_READ_ONLY": "1"}, "off off off off off off"),
    "not read-only beside it": ("", {"writes": "plan", "read_only": False}, {}, "plan plan off plan off plan"),
    "not read-only": ("", {"read_only": False}, {}, "direct plan off plan off plan"),
}  # fmt: skip


@pytest.mark.parametrize("case", BOUNDS)
def test_a_flag_or_variable_bounds_every_context(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No table of the file permits writes that a flag or variable forbids, and neither opens what a table closes."""
    text, flags, variables, modes = BOUNDS[case]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "k.toml"
    file.write_text(f"{text}\n{TABLES}")
    settings = config.load(flags, file)
    assert " ".join(settings.modes) == modes


WRONG = {
    "unknown key names the nearest": ("read_onyl = false", "`read_onyl`", "did you mean `read_only`"),
    "unknown nested key names the nearest": ("[limits]\napi_call = 3", "`limits.api_call`", "`api_calls`"),
    "unknown key of a denied resource": ('[[denied_resources]]\nkin = "Secret"', "kin", "`kind`"),
    "unknown key of a context's denied resource": ('[[contexts.a.denied_resources]]\nkin = "Secret"', "kin", "`kind`"),
    "unknown key of a redaction rule": (
        '[[redaction.rules]]\nid = "a"\nregex = "abc"\nentrpy = 1',
        "entrpy",
        "`entropy`",
    ),
    "wrong type": ('port = "many"', "`port`", "integer"),
    "out of range": ("[limits]\ndepth = 5000", "`limits.depth`", "1024"),
    "a file for replicas": ('[replicas]\nstore = "/var/plans.db"', "`replicas.store`", "set plans.store"),
    "broken TOML": ("port = ", "k.toml", ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_an_error_that_names_the_key(case: str, tmp_path: Path) -> None:
    """Whatever is wrong with the file, the message says where and what would be right; and the next load works."""
    text, *expected = WRONG[case]
    file = tmp_path / "k.toml"
    file.write_text(text)
    with pytest.raises(errors.ConfigError) as caught:
        config.load({}, file)
    assert all(part in caught.value.message for part in expected), caught.value.message
    assert config.load({}, None).read_only


def test_plans_are_where_replicas_share_them(tmp_path: Path) -> None:
    """Unless they are kept elsewhere; and no error quotes the password."""
    file = tmp_path / "k.toml"
    file.write_text('[replicas]\nstore = "postgresql://u:hidden@h/d"\n')
    shared = config.load({}, file)
    assert shared.plans.store == shared.replicas.store == "postgresql://u:hidden@h/d"
    with pytest.raises(errors.ConfigError, match=r"cannot change while the server runs: .*replicas"):
        config.check_reload(config.load({}, None), shared)
    file.write_text('[replicas]\nstore = "postgres://u:hidden@h/d"\n')
    with pytest.raises(errors.ConfigError) as caught:
        config.load({}, file)
    assert "hidden" not in str(caught.value)
    file.write_text('[replicas]\nstore = "postgresql://h/d"\n[plans]\nstore = "/plans.db"\n')
    assert config.load({}, file).plans.store == "/plans.db"


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """A --config that is not there does not pass for an empty one."""
    with pytest.raises(errors.ConfigError, match="cannot read"):
        config.load({}, tmp_path / "missing.toml")


def test_an_unknown_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBESCRIPT_READONLY is not silently ignored."""
    monkeypatch.setenv("KUBESCRIPT_READONLY", "true")
    with pytest.raises(errors.ConfigError, match="KUBESCRIPT_READ_ONLY"):
        config.load({}, None)


@pytest.mark.parametrize("name", ["KUBESCRIPT_REPLICAS__STORE", "KUBESCRIPT_PLANS__STORE"])
def test_an_empty_store_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Secret's key that is empty does not pass for no store; without the variable there is none."""
    monkeypatch.setenv(name, "")
    with pytest.raises(errors.ConfigError, match=f"{name} is empty"):
        config.load({}, None)
    monkeypatch.delenv(name)
    assert not config.load({}, None).replicas.store


def test_a_variable_with_a_list_that_is_no_json_is_an_error_that_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, and nothing of the value; as JSON it counts."""
    monkeypatch.setenv("KUBESCRIPT_HTTP__HOSTS", "a.example.com")
    with pytest.raises(errors.ConfigError, match='field "http"') as caught:
        config.load({}, None)
    assert "JSON" in caught.value.remedy and "a.example.com" not in caught.value.message
    monkeypatch.setenv("KUBESCRIPT_HTTP__HOSTS", '["a.example.com"]')
    assert config.load({}, None).http.hosts == ("a.example.com",)


# --- what runs command lines ---


def test_urls_that_callers_may_name_are_compared_in_one_form(tmp_path: Path) -> None:
    """A slash at the end, and the case of scheme and host, make no other URL."""
    file = tmp_path / "kubescript.toml"
    file.write_text(
        '[openstack]\nauth_urls = ["https://Keystone.example.com:5000/v3/"]\n[openshift]\nurls = ["HTTPS://api.x:6443/"]\n'
    )
    settings = config.load({}, file)
    assert settings.openstack.auth_urls == ("https://keystone.example.com:5000/v3",)
    assert settings.openshift.urls == ("https://api.x:6443",)
    assert config.normal_url("https://API.x:6443") == "https://api.x:6443"


NO_URLS = (
    "",
    "ftp://a",
    "https://",
    "https://user@a",
    "https://a?b",
    "https://a#b",
    "https://a b",
    "https://a\n",
    "a",
    "https://\u00e4",
)


@pytest.mark.parametrize("url", NO_URLS)
def test_what_is_no_url_of_a_service_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        config.normal_url(url)


CONTRADICTIONS = {
    "two sources of credentials": ({"auth_urls": ["https://a"], "cloud": "b"}, "auth_urls"),
    "certificates are checked, and are not": ({"ca_cert": "/a.pem", "insecure": True}, "contradict"),
    "a flag for a command": ({"allowed_commands": ["--debug"]}, "allowed_commands"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_settings_of_openstack_that_contradict_each_other_are_refused(case: str) -> None:
    table, said = CONTRADICTIONS[case]
    with pytest.raises(errors.ConfigError, match=said):
        config.load({"openstack": table}, None)


COMMAND_LINES: Final[dict[str, tuple[dict[str, object], bool]]] = {
    "nothing is said": ({}, True),
    "read only": ({"read_only": True}, False),
    "plans, which openstack does not make": ({"writes": "plan"}, False),
    "direct": ({"writes": "direct"}, True),
}


@pytest.mark.parametrize("case", COMMAND_LINES)
def test_a_flag_that_forbids_writes_forbids_those_of_openstack(case: str, tmp_path: Path) -> None:
    flags, may_write = COMMAND_LINES[case]
    file = tmp_path / "kubescript.toml"
    file.write_text("[openstack]\nallow_write = true\n[openshift]\nallow_write = true\n")
    settings = config.load(flags, file)
    assert settings.openstack.allow_write is may_write


def test_a_caller_whose_table_forbids_writes_has_an_openstack_that_writes_nothing() -> None:
    """Nor with plans, which openstack does not make."""
    table = {"allow_write": True}
    for most, may_write in (("off", False), ("plan", False), ("direct", True)):
        given = {"openstack": table, "openshift": table, "access": [{"writes": most}]}
        own = access_rules.narrow(config.load(given, None), user.User("alice"))
        assert own.openstack.allow_write is may_write, most
