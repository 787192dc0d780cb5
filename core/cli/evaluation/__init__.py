"""The commands `openquery eval ...`: settings and answers measured, compared and checked."""
