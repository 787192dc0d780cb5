"""What the extractors keep of a page."""
