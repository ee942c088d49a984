# The servers that tests run against; docker-compose.yml starts the same Weaviate. FerretDB's is in its go.mod.
WEAVIATE_VERSION=1.36.0
OLLAMA_VERSION=0.9.6
