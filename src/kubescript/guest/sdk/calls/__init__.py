"""A script's calls: arguments, sessions, answers, watches, and several calls at the same time."""
