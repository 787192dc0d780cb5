import streamlit as st
st.title("History")
