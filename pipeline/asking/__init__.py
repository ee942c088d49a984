"""Before the search: rewriting, translation, greetings; and questions to suggest."""
