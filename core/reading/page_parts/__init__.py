"""Parts of an HTML page that are more than prose, found again in the text that an extractor took from it."""
