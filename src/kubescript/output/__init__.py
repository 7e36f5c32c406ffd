"""Writes the answer that a model reads: rendered, cleaned, fenced and cut to size."""
