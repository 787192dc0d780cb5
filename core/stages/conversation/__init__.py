"""Parts of a conversation: a follow-up as a standalone question, whether an index suffices for it, next questions."""
