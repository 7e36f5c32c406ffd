"""Decides which requests may be sent, by the rules and by what discovery finds for the names in them."""
