"""The host's side of a script: spare workers, the conversation with one, the replies it gets and what it has used."""
