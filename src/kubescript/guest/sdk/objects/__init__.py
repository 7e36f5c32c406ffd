"""Objects of the API as scripts see them: views, lists, tables, and how they become text and JSON."""
