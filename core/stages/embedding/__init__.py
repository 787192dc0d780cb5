"""Parts of the embed stage: batches of texts, and the matrix that their vectors fill."""
