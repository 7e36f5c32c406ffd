"""The rules of the autopsy: functions from facts to findings, grouped by what they look at."""
