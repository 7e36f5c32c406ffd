"""Rows of objects as kubectl prints them: their cells, their order and their text."""
