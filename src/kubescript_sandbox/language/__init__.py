"""The Python that a script may write: compiler, transformer and guards."""
