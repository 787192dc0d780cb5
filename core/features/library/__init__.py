"""A person's own documents: storage as passages in collections, and search by runs."""
