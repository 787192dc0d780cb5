"""Chat, embedding and reranking models."""
