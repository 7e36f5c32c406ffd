"""The autopsy: from a transcript to a verdict, by pure functions that run nothing."""
