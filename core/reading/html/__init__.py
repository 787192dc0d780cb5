"""HTML to article."""
