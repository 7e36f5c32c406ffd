"""How a person sees a plan and decides about it: one view, as a page of the local web server and as plain text."""
