"""The kinds that a cluster serves, the meaning of their fields, and the client for any of them."""
