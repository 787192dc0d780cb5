"""What was lost between search results and citations, and where."""
