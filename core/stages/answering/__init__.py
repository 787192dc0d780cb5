"""Parts of the answer stage: prompt, streamed reply, extractive answer, text around a passage."""
