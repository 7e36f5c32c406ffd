"""What real sources hold of secrets does not reach a script, in whatever part and order it asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from security_tests.redaction.chance import Chance
from tests.kit import clients
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus
from tests.kit.source_tables import table

NOW: Final = int(time.time()) // 60 * 60
PASSWORD: Final = "Tr0ub4dor-and-3"
KEY: Final = [Chance(f"key {line}").base62(64) for line in range(12)]
LINES: Final = [
    "starting",
    "-----BEGIN RSA PRIV" + "ATE KEY-----",
    *KEY,
    "-----END RSA PRIV" + "ATE KEY-----",
    "Password for root:",
    PASSWORD,
    f'{{"level":"info","db_password":"{PASSWORD}"}}',
    f"Set-Cookie: sid={PASSWORD}; Path=/ cookie",
    f"connecting to postgres://app:{PASSWORD}@db/shop?sslmode=disable n=1",
    "started",
]
SERIES: Final = f"""# TYPE up gauge
up{{pod="web",db_password="{PASSWORD}"}} 7 {NOW}
# TYPE secret gauge
secret{{name="DB_PASSWORD",value="{PASSWORD}"}} 1 {NOW}
secret{{name="DB_PASSWORD",value="{PASSWORD}-4"}} 1 {NOW}
"""
ASK: Final = '[line for s in loki.query_range(\'{app="web"}%s) for t, line in s.values]'
SCRIPTS: Final = (
    ASK % "', direction='forward'",
    ASK % "', direction='backward'",
    ASK % "', limit=9, direction='backward'",
    ASK % f"', start={NOW - 95}",
    ASK % ' |~ "^[A-Za-z0-9]{64}$"\'',
    ASK % " | json'",
    f"[(s.metric, s.value) for s in prom.query('up', time={NOW})]",
    f"[(s.labels, s.values) for s in prom.query_range('up', start={NOW - 60}, end={NOW}, step='30s')]",
    f"prom.query('count_values(\"x\", up) * on() group_right up', time={NOW})",
    f"prom.series('up', start={NOW - 60}), prom.label_values('db_password', start={NOW - 60})",
    f"prom.label_values('U__db_5f_p_61_ssword', start={NOW - 60})",
    'loki.query(\'max(max_over_time({app="web"} |= "cookie" | logfmt | unwrap app [1h]))\')',
    "loki.query('sum(count_over_time({app=\"web\"} | logfmt | app > 5 [1h]))')",
    'loki.query(\'count_over_time({app="web"} |= "sslmode" | logfmt [1h])\')',
    'loki.query(\'sum without (app) (count_over_time({app="web"} |= "sslmode" | logfmt [1h]))\')',
    ASK % ' |= "sslmode" | logfmt\'',
    'loki.query(\'max_over_time({app="web"} |= "sslmode" | logfmt | unwrap n | __error__="" [1h]) by ()\')',
    'loki.query(\'sum by (y) (count_over_time({app="web"} | json | __error__="" | label_format:=x, y=db_password [1h]))\')',
    f"prom.query('up * on() secret', time={NOW})",
)
GUESS: Final = (
    f"""guess = prom.query('absent(nothing{{db_password="{PASSWORD}"}})', time={NOW})[0].metric['db_password']\n"""
    f"real = prom.query('up', time={NOW})[0].metric['db_password']\n"
    "'redacted' in guess, 'redacted' in real, guess == real"
)
"""A script that has the source repeat its guess."""


def test_no_secret_of_a_source_reaches_a_script(
    prometheus3: Callable[..., Prometheus], loki: Loki, scratch: ControlPlane, tmp_path: Path
) -> None:
    """No line of a key, no password in a line or a label is in an answer; the lines around them and the numbers are."""
    loki.push({"app": "web"}, [(NOW - 100 + at, line) for at, line in enumerate(LINES)])
    prometheus = prometheus3(openmetrics=SERIES)
    config = tmp_path / "kubescript.toml"
    config.write_text(table("prom", "prometheus", prometheus.url) + table("loki", "loki", loki.url))
    with clients.asking("--kubeconfig", str(scratch.kubeconfig), "--config", str(config)) as ask:
        answers = {script: clients.text(ask(script)) for script in SCRIPTS}
        assert clients.text(ask(GUESS)) == "[true,true,false]"
    for script, text in answers.items():
        # A label's name has `_` for other signs.
        told = text.replace("_", "-")
        assert not [secret for secret in (*KEY, PASSWORD) if secret in told], script
    for script in SCRIPTS[:2]:
        assert "starting" in answers[script] and "started" in answers[script], answers[script]
    assert '"db_password":"«redacted:password:' in answers[SCRIPTS[6]].replace(" ", "") and "7" in answers[SCRIPTS[6]]
