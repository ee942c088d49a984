"""Other formats than Markdown, as Markdown: a module a format, and the process that they run in."""
