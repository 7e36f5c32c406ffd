"""The host's side of a script: spare workers, the conversation with one, what it used and the replies it gets."""
