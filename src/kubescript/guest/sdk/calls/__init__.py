"""How a script's calls are made: arguments, sessions, answers, watches, and several calls at the same time."""
