"""The trusted side: starts confined processes, talks to them, and ends them."""
