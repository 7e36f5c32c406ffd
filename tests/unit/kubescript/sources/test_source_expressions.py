"""Which PromQL and LogQL the door to sources lets through."""

from __future__ import annotations

import string

import pytest

from kubescript import errors
from kubescript.sources import expressions

PROMQL = [
    "up",
    'sum by (pod) (rate(http_requests_total{namespace="shop",code=~"5.."}[5m]))',
    '{__name__=~"queue_.*"}',
    '{"queue.depth", job="x"}',
    'up{job!="x"} and on (pod) kube_pod_info{node=~".+"}',
    'topk(3, {namespace="shop"}) > bool 1.5e3 and up @ end() offset 1h30m',
    "1 + 1",
    "max_over_time((up < 1)[3h:1m]) + min_over_time(rate(x[5m])[1h:] offset 30m)",
    'vector(1) or up{a="}"}',
]
LOGQL = [
    '{namespace="shop"} |= "timeout" != "debug" |~ "(?i)error|fail" !~ "x"',
    '{app=~"web|cart"} | json | level="error" | status >= 500',
    '{app="web"} | logfmt | (level="error" or level="warn") and duration > 10s',
    'sum by (pod) (count_over_time({namespace=~".+"} |= "x" [1h])) > 100',
    'quantile_over_time(0.9, {app="web"} | json | unwrap latency [5m]) by (pod)',
    'topk(3, sum by (level) (count_over_time({app="web"} | logfmt | (level="error" or level="warn") [1h])))',
    'sum(rate({app="web"} | json [5m])) by (a) / on (a) sum by (a) (topk(3, rate({app="web"} | logfmt [5m])))',
    'max(max_over_time({app="web"} | json | unwrap bytes(size) [1h]))',
    '{app="web"} |= "line_format | regexp // # /*"',
    'avg_over_time({app="web"} | regexp "took_ms\\"?[=: ]+(?P<ms>[0-9.]+)" | unwrap ms [1h]) by (pod)',
    'max(max_over_time({app="web"} | regexp `(?i)took (?:about )?(?P<s>\\d+\\.?\\d*)s` | unwrap duration(s) [1h]))',
    '{app="web"} | json | size > 10KiB | duration >= 1.5s | code != 200',
    '{app="web"} | drop level, method="GET" | decolorize',
]


NARROW = [
    *("web-.*", ".*error.*", "(api|web)-.+", "5..", "^kube-.*$", "a|b", "(?i)web.*", "(?:a|(b|c)d)+", "[]a]b", "a+?b"),
    *("web-[0-9]{1,3}", "(?P<x>a).*", "10\\.0\\..+", "a{,3}b", "{{x", "[[:alpha:]]+-x", "é.*", "(?i:a)"),
]
WIDE = [
    *(
        "",
        ".*",
        "((a))?.+",
        "(?:a(b))*.+",
        "a{0}.+",
        "x{0,1}.+",
        "[]a].*|.+m",
        "[^]a]+",
        "z(?i)*.+",
        ".+_.+",
        "a|",
        "|a",
        "(a|).+",
        "()",
    ),
    *(
        "(a|.)+",
        "a*b?",
        "a+?",
        "\\d+",
        "\\x61?.+",
        "\\pL",
        "\\p{Lu}*.*",
        "\\Qa\\E?.*",
        "[[:alpha:]a]",
        "(?i)",
        "(?s).+",
    ),
    *("(?P<a>.*)", "(?P<a>b)?", "((a)", "a)", "[a", "(?=a).*", "a(?#b)", "(" * 60 + "a" + ")" * 60, "[a\\]b].*", "\\"),
]


@pytest.mark.parametrize("pattern", NARROW)
def test_a_pattern_with_text_that_must_be_there_names_something(pattern: str) -> None:
    """Whatever a match is, it has a character that the pattern has written down."""
    expressions.check_metric_query(f"{{pod=~`{pattern}`}}")


@pytest.mark.parametrize("pattern", WIDE)
def test_a_pattern_that_may_match_everything_names_nothing(pattern: str) -> None:
    """Its letters may be left out, are of a class or a name of a group, or it is not read; the message has a pattern."""
    with pytest.raises(errors.RequestError, match=r'each alternative must have: pod=~"web-\.\*'):
        expressions.check_metric_query(f"{{pod=~`{pattern}`}}")


@pytest.mark.parametrize("text", PROMQL)
def test_ordinary_promql_passes(text: str) -> None:
    """Queries as people write them are not judged by their strings or comments."""
    expressions.check_metric_query(text)


@pytest.mark.parametrize("text", LOGQL)
def test_ordinary_logql_passes(text: str) -> None:
    """Filters, parsers and counts are let through."""
    expressions.check_log_query(text)


@pytest.mark.parametrize(
    "text",
    [
        '{__name__=~".+"}',
        'count({__name__!=""})',
        'sum by (x) ({job=~".*"})',
        'up and {__name__=~".+"}',
        "{job=~`.+`}",
        'label_replace(up, "x", "$1", "password", "(.*)")',
        '# \rlabel_replace(up, "x", "$1", "password", "(.*)")',
        "up # a comment",
        'LABEL_REPLACE(up, "x", "$1", "password", "(.*)")',
        'label_copy(up, "password", "x")',
        'label\\_replace(up, "x", "$1", "password", "(.*)")',
        "WITH (f(x) = x) f(up)",
        'up * on(pod) group_left(token) prefix "public_" mem',
        '{__name__="mem" or __name__=~".+"}',
        '{__name__=~"\\\\S+"}',
        '{__name__=~".{1,}"}',
        '{__name__=~"\\x2e+"}',
        '{__name__=~"(?:a)?.+"}',
        'vector(0) OR {__name__=~".+"}',
        '{__name__=~"(?s).+"}',
        '{__name__=~"a|.+"}',
        '{__name__=~".+"',
        'up{a="b',
        "up\u2028",
    ],
)
def test_promql_for_everything_is_refused(text: str) -> None:
    """A selector must name something, and no function may rename a label."""
    with pytest.raises(errors.RequestError, match="write "):
        expressions.check_metric_query(text)


@pytest.mark.parametrize(
    "text",
    [
        '{namespace=~".+"}',
        '({namespace=~".+"})',
        '{namespace=~"(?i).+|x"}',
        '{app="web"} | line_format "{{.password}}"',
        '{app="web"} |= "x" | label_format a=password',
        '{app="web"} | regexp "password=(?P<x>.*)"',
        '{app="web"} | pattern "<x>"',
        '{app="web"} | json x="password"',
        '{app="web"} | json a, x="b.password" | level="error"',
        '{app="web"} | logfmt --keep-empty x="password"',
        '{app="web"} | unpack',
        '{app="web"} |\n#\nline_format "{{.x}}"',
        '{app="web"} | logfmt /* # */ | line_format "{{.password}}"',
        '{app="web"} // `\n| line_format "{{.password}}" // `',
        '{app="web"} /* \' */ | line_format "{{.x}}" /* \' */',
        '{app="web"} |= "x" 1line_format "{{.x}}"',
        '{app="web"} | regexp "password=(?P<x>[0-9a-z]+)"',
        '{app="web"} | regexp "password=(?P<x>[0-9]+)"',
        'count_over_time({app="web"} | regexp "=(?P<a>[0-9]+)" [1h]) or max_over_time({app="b"} | unwrap a [1h])',
        'max_over_time({app="b"} | unwrap a [1h]) or count_over_time({app="web"} | regexp "=(?P<a>[0-9]+)" [1h])',
        '{app="web"} | regexp "password=(?P<x>[0-9]+)" | unwrap x',
        'sum by (x) (sum_over_time({app="web"} | regexp "password=(?P<x>[0-9]+)" | unwrap x [1h]))',
        'sum_over_time({app="web"} | regexp "(?P<a>[0-9])(?P<b>[0-9])" | unwrap a [1h])',
        'max_over_time({app="web"} | regexp "=(?P<a>[0-9]+)" | unwrap a [1h]) by (a_extracted)',
        '{app="web"} | regexp "password=(?P<x>\\\\d+|.*)"',
        '{app="web"} | regexp "(\\x3fP<x>.*)"',
        '{app="web"} | regexp `(?<x>.*)`',
        '{app="web"} | regexp `(?P<n>\\d+)(?P<x>[+-z]+)`',
        '{app="web"} | regexp `(?P<n>(?P<x>.*))`',
        '{app="web"} | logfmt --keep-empty',
        '{app="web"} | label_format != "x"',
        '{app="web"} | json != "x" | line_format "{{.x}}"',
        '{app="web"} # | json\n | regexp "(?P<x>.*)"',
        'sum(count_over_time({app="web"} | label_format x="{{.password}}" [1h]))',
        'label_replace(rate({app="web"} | json [1m]), "x", "$1", "password", "(.*)")',
        'sum by (y) (count_over_time({app="web"} | json | label_format:=x, y=password [1h]))',
        '{app="web"} | json.x="b"',
    ],
)
def test_logql_that_moves_a_value_away_from_its_name_is_refused(text: str) -> None:
    """No stage may take a secret out of the place by which the masker knows it; the refusal says what to write."""
    with pytest.raises(errors.RequestError, match="write "):
        expressions.check_log_query(text)


@pytest.mark.parametrize("stage", ["label_format", "line_format", "pattern", "regexp", "unpack"])
def test_a_stage_that_moves_values_is_refused_whatever_sign_follows_its_name(stage: str) -> None:
    """Loki ends the name of a stage at each of them."""
    for sign in f"{string.punctuation} \n".replace("_", ""):
        with pytest.raises(errors.RequestError):
            expressions.check_log_query(f'{{app="web"}} | {stage}{sign}=x, y=password')


PARSED = 'count_over_time({app="web"} | logfmt [1h])'


@pytest.mark.parametrize(
    "text",
    [
        PARSED,
        f"({PARSED})",
        f"topk(3, {PARSED})",
        f"topk by (level) (3, {PARSED})",
        f"topk(3, {PARSED}) by (level)",
        f"sum without (app) ({PARSED})",
        f"sum({PARSED}) without (app)",
        f"sum on (app) ({PARSED})",
        f'(sum(rate({{app="web"}}[1m]))) or {PARSED}',
        f'sum by (app) (rate({{app="web"}}[1m])) + on (app) group_left(level) {PARSED}',
        f"sum({PARSED}",
        'avg_over_time({app="web"} | json | unwrap took [5m])',
        'avg_over_time({app="web"} | regexp "=(?P<a>[0-9]+)" | unwrap a [5m])',
        'avg_over_time({app="web"} | json | unwrap took [5m]) by ()',
        'topk(3, avg_over_time by () ({app="web"} | json | unwrap took [5m]))',
    ],
)
def test_a_metric_with_all_labels_of_parsed_lines_is_refused(text: str) -> None:
    """A metric names each label that a parser makes, or has none of them; the refusal says how."""
    with pytest.raises(errors.RequestError, match=r"write which ones it has: sum by \(level\)"):
        expressions.check_log_query(text)


def test_hostile_text_is_read_in_linear_time() -> None:
    """The longest expression of quotes, braces or comments is read at once."""
    for unit in ('"', "'", "`", "{", "}", "#", '"\\', "{a=", "|", '{"', "sum(|json)", "sum("):
        text = unit * (expressions.MAX_LENGTH // len(unit))
        for check in (expressions.check_metric_query, expressions.check_log_query):
            try:
                check(text)
            except errors.RequestError:
                continue


def test_no_label_has_two_names() -> None:
    """The escaped form of a name is refused: the masker would not see that a secret's name is meant."""
    with pytest.raises(errors.RequestError, match="write the label's own name"):
        expressions.check_label("U__db_5f_password")
    expressions.check_label("db.password")
