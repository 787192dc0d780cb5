"""Parts of the chunk stage: boundaries in text, and baseline splitters for comparison."""
