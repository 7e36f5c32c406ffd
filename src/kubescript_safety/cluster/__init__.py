"""Views a run's cluster from outside: its objects, the requests sent to it, and the failures in it."""
