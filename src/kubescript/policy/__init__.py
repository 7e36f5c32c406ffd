"""The decision which requests may be sent: the rules, and what discovery says that the rules name."""
