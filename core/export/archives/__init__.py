"""Runs in the forms of archives: pages as WARC, the description of a bundle as RO-Crate metadata."""
