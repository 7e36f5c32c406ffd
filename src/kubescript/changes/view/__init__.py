"""The display of a plan: as a page, as a form and as plain text."""
