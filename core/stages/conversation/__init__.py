"""Parts of a conversation: standalone questions, coverage by known pages, next questions."""
