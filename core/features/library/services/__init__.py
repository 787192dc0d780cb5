"""What the library adds to the engine: collections, session files, workers of ingests."""
