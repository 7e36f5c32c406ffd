"""The trusted side: lends maskers, and ends them."""
