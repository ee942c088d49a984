"""What is found again: turns by words and vectors, facts and the graph, and how it is told."""
