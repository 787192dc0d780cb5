"""A hostile web on loopback, and the table of what must become of each of its pages."""
