"""Files served with the pages, and patches to Streamlit."""
