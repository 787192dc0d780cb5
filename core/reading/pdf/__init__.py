"""PDF files to article, and their pages as pictures."""
