"""Parts of the chunk stage: sentences, words and other boundaries of text; the baselines it is compared with."""
