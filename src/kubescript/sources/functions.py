"""The functions and aggregations of PromQL and LogQL that leave each label under its own name.

`label_replace` and `label_join` are missing on purpose, and so is all that other servers add, such as VictoriaMetrics'
`label_copy`: a function that is not listed may take a secret away from its name.
"""

from __future__ import annotations

from typing import Final

__all__ = ["KEYWORDS", "KNOWN"]

_AGGREGATIONS: Final = """
    sum avg min max count group stddev stdvar topk bottomk quantile count_values limitk limit_ratio approx_topk
"""
_PROMQL: Final = """
    abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil changes clamp clamp_max clamp_min
    cos cosh count_over_time day_of_month day_of_week day_of_year days_in_month deg delta deriv
    double_exponential_smoothing end exp first_over_time floor histogram_avg histogram_count histogram_fraction
    histogram_quantile
    histogram_quantiles histogram_stddev histogram_stdvar histogram_sum holt_winters hour idelta increase info integral
    irate last_over_time ln log10 log2 mad_over_time max_of max_over_time min_of min_over_time minute month pi
    predict_linear present_over_time quantile_over_time rad range rate resets round scalar sgn sin sinh sort
    sort_by_label sort_by_label_desc sort_desc sqrt start start_timestamp stddev_over_time stdvar_over_time step
    sum_over_time tan tanh time timestamp ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time
    ts_of_min_over_time vector year
"""
_LOGQL: Final = "rate_counter bytes_rate bytes_over_time bytes duration duration_seconds ip"
KEYWORDS: Final = frozenset({
    "and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "atan2",
})  # fmt: skip
"""Words that are neither a function nor a metric's name."""
KNOWN: Final = KEYWORDS.union(f"{_AGGREGATIONS} {_PROMQL} {_LOGQL}".split())
"""What may stand before a bracket."""
