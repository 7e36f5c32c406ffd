"""Recorded writes: what a script would change, who may approve it, and the application of exactly that."""
