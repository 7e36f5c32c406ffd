"""The cluster of a run, handled from outside: what is in it, what was sent to it, and what goes wrong in it."""
