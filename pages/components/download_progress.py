"""A model's download as a bar with stage, bytes, speed and time left."""

from __future__ import annotations

import streamlit as st

from logician_graph.inference import PullProgress
from pages.components.words import duration, size

STAGES = {
    "waiting": "Waiting for another download",
    "index": "Asking the package index",
    "download": "Downloading",
    "extract": "Unpacking",
    "verify": "Verifying",
    "done": "Done",
}


def download_progress(progress: PullProgress | None) -> None:
    """Draw the bar; None while nothing is known yet."""
    if progress is None:
        st.progress(0.0, text="Starting the download")
        return
    facts = [STAGES.get(progress.stage, progress.stage)]
    if progress.bytes_total:
        facts.append(f"{size(progress.bytes_done)} of {size(progress.bytes_total)}")
    if progress.bytes_per_s:
        facts.append(f"{size(progress.bytes_per_s)}/s")
    if progress.eta_s is not None:
        left = f"{progress.eta_s:.0f} s" if progress.eta_s < 60 else duration(progress.eta_s)
        facts.append(f"about {left} left")
    share = progress.bytes_done / progress.bytes_total if progress.bytes_total else 0.0
    st.progress(min(1.0, share), text=" · ".join(facts))
