"""Reads text, without judging what is secret: patterns in linear time, places, JSON strings, encodings."""
