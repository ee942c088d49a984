"""Reading: find files, convert them to Markdown, and cut them into sections and sentences."""
