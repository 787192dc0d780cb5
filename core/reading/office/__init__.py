"""Office files and e-books to article."""
