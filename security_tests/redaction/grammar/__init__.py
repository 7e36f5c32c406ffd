"""Forms by the grammar that carries them: notations, command lines, languages, environments, messages."""
