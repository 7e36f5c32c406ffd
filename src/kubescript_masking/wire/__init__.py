"""Imported by both sides: their messages, and how bytes are cut."""
