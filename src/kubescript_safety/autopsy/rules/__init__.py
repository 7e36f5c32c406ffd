"""The autopsy's rules: functions from facts to findings, grouped by subject."""
