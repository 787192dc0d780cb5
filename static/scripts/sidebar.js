// Streamlit keeps in the browser that the sidebar was open, also on a phone, where it covers the page: it is closed
// there when a page is loaded.

const COVERS = window.matchMedia('(max-width: 768px)');  // Streamlit's breakpoint

try {
  const kept = COVERS.matches ? Object.keys(localStorage) : [];
  kept.filter((name) => name.startsWith('stSidebarCollapsed')).forEach((name) => localStorage.removeItem(name));
} catch {
  // a browser without storage has nothing to forget
}
