"""Parts of an HTML page other than prose, located in an extractor's text."""
