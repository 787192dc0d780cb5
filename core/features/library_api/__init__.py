"""The document library over HTTP: collections, documents, ingests and embeddings for programs."""
