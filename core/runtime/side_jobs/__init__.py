"""Work outside of runs: drafts of follow-up questions, retuned rankings and temporary answers."""
