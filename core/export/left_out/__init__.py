"""Runs that leave without the texts of others: what stands for the texts, and how they are fetched again."""
