"""Decides which requests may be sent: rules, and what discovery says they name."""
