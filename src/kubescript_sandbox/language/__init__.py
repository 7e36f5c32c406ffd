"""The Python that a script may write: compiler, guards and the standard library it can import."""
