"""Rows of objects as kubectl prints them: their cells, order and text."""
