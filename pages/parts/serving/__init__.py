"""What is served around the pages, and what is changed of Streamlit."""
