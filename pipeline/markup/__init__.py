"""Marks: what stands in Markdown for a program and not for a reader, found with exact offsets."""
