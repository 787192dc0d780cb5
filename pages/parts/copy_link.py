"""A button that copies the address of the page, with the settings in it."""

from __future__ import annotations

import streamlit as st

_HTML = """
<button type="button"><span class="icon" aria-hidden="true">link</span><span class="text">Copy link</span></button>
<label hidden><span>Copy it from here:</span><input type="text" readonly aria-label="Link to this page" /></label>
<span class="told" role="status"></span>
"""

_CSS = """
button { box-sizing: border-box; width: 100%; min-height: 2.5rem; padding: .25rem .75rem; display: flex; gap: .5rem; align-items: center; justify-content: center; font: 400 .9rem/1.6 var(--st-font); color: var(--st-text-color); background: var(--st-background-color); border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius); cursor: pointer; }
button:hover { color: var(--st-primary-color); border-color: var(--st-primary-color); }
button:focus-visible { outline: none; box-shadow: 0 0 0 .2rem color-mix(in srgb, var(--st-primary-color) 50%, transparent); }
.icon { font: 400 1.15rem/1 "Material Symbols Rounded"; width: 1em; overflow: hidden; }
label { display: block; margin-top: .4rem; font: 12px/1.4 var(--st-font); color: var(--st-text-color); }
label[hidden] { display: none; }
input { box-sizing: border-box; width: 100%; margin-top: .25rem; padding: .4rem .5rem; font: 12px/1.4 var(--st-code-font); color: var(--st-text-color); background: var(--st-secondary-background-color); border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius); }
input:focus { outline: 2px solid var(--st-primary-color); outline-offset: -1px; }
.told { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""

_SCRIPT = """
export default function ({ parentElement }) {
  const button = parentElement.querySelector('button');
  const [text, icon] = ['.text', '.icon'].map((name) => button.querySelector(name));
  const label = parentElement.querySelector('label');
  const field = parentElement.querySelector('input');
  const told = parentElement.querySelector('.told');
  let timer;

  const copied = () => {
    label.hidden = true;
    text.textContent = told.textContent = 'Link copied';
    icon.textContent = 'check';
    clearTimeout(timer);
    timer = setTimeout(() => {
      text.textContent = 'Copy link';
      told.textContent = '';
      icon.textContent = 'link';
    }, 2500);
  };
  const show = (link) => {
    label.hidden = false;
    field.value = link;
    field.focus();
    field.select();
    told.textContent = 'The link is in the field below the button.';
  };
  button.onclick = async () => {
    const link = location.origin + location.pathname + location.search;
    // Browsers have a clipboard over https and on localhost only, and may refuse it there too.
    try {
      await navigator.clipboard.writeText(link);
      copied();
    } catch {
      show(link);
    }
  };
  field.onfocus = () => field.select();
  return () => clearTimeout(timer);
}
"""

_component = st.components.v2.component("openquery_copy_link", html=_HTML, css=_CSS, js=_SCRIPT)


def copy_link() -> None:
    """Draw the button. Where the browser has no clipboard, a field with the link appears below it."""
    _component(key="copy_link")
