"""Commands of the document library."""
