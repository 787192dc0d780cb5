"""Text: decoding, sanitizing, sentences, URLs, safe Markdown. Pure functions."""
