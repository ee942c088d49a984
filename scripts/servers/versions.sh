# The servers that tests run against, as far as they can be built: docker-compose.yml starts the same minor version
# of Weaviate and Neo4j with its patches, and a current Ollama. FerretDB's version is in its go.mod.
WEAVIATE_VERSION=1.38.0
OLLAMA_VERSION=0.9.6
NEO4J_VERSION=5.26.30
PHOENIX_VERSION=20.26.1
