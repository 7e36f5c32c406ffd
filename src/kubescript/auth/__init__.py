"""Authenticates callers by tokens and certificates, and determines their rights. `user.User` is a caller."""
