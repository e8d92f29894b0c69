"""Buttons that put something on the clipboard, in the browser itself: no page run."""

from __future__ import annotations

import streamlit as st
from streamlit.components.v2 import component

_COPY = component(
    "logician_copy_link",
    html="""
<button type="button"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M9 9V5.5A1.5 1.5 0 0 1 10.5 4h8A1.5 1.5 0
 0 1 20 5.5v10a1.5 1.5 0 0 1-1.5 1.5H15M5.5 8h8A1.5 1.5 0 0 1 15 9.5v9a1.5 1.5 0 0 1-1.5 1.5h-8A1.5 1.5 0 0 1 4
 18.5v-9A1.5 1.5 0 0 1 5.5 8Z"/></svg><span></span></button>
""",
    css="""
button { all: unset; box-sizing: border-box; cursor: pointer; display: inline-flex; align-items: center; gap: 0.4rem;
  height: 2.4rem; padding: 0 0.1rem; border-radius: var(--st-button-radius); color: var(--st-text-color);
  font-size: 0.875rem; white-space: nowrap; }
button:hover { color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
svg { width: 1.05rem; height: 1.05rem; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round; }
""",
    js="""
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const word = parentElement.querySelector("span")
  if (!button.dataset.told) word.textContent = data.label
  const text = () => new URL(data.path, location.origin).href
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text())
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text() })
      document.body.append(area)
      area.select()
      document.execCommand("copy")
      area.remove()
    }
    button.dataset.told = "yes"
    word.textContent = "Copied"
    setTimeout(() => {
      delete button.dataset.told
      word.textContent = data.label
    }, 1500)
  }
}
""",
)


def copy_answer_button(run_id: str) -> None:
    """Copy what a run answered, as it was written. The page's desk catches the click and fetches the text then."""
    st.button(":material/content_copy:", key=f"copy_{run_id}", type="tertiary", help="Copy the answer")


def copy_link_button(path: str, *, key: str, label: str) -> None:
    """Copy the address of ``path`` on the host under which the person sees this page."""
    _COPY(key=key, data={"path": path, "label": label}, width="content")
