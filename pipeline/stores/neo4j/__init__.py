"""The graph of whom and what is remembered, in Neo4j beside a store: written from its rows, and asked."""
