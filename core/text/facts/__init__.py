"""Numbers, dates and names of texts, compared."""
