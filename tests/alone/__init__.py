"""Tests that need the machine to themselves: they measure memory, or kill at moments."""
