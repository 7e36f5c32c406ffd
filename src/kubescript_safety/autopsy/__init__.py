"""The autopsy: from a transcript to a verdict. Pure functions, which ask nobody and run nothing."""
