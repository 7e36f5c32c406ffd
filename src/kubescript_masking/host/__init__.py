"""The trusted side: lends and ends maskers."""
