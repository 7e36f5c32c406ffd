"""The autopsy of a run: from its transcript to a verdict. Pure functions, which ask nobody."""
