"""Parts of the embed stage: batches of texts, and the matrix of their vectors."""
