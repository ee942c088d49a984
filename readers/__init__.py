"""Files in, nodes out: Markdown files become section nodes, sections become sentence leaves."""
