"""How a plan is shown, as a page, as a form and as plain text."""
