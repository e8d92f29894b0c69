"""Evolution: the studies, one study in every detail, one candidate of it, and studies side by side."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components import places
from pages.components.candidate import candidate
from pages.components.notices import say_notices
from pages.components.study_compare import study_compare
from pages.components.study_form import study_form
from pages.components.study_list import study_list
from pages.components.study_page import study_page

engine = Engine.current()
study_id = places.selected("study")
sample = st.query_params.get("sample", "")
say_notices()
if study_id and sample.removeprefix("-").isdecimal():
    candidate(engine, study_id, int(sample))
elif study_id:
    study_page(engine, study_id)
elif "new" in st.query_params:
    study_form(engine)
elif chosen := st.query_params.get("compare"):
    study_compare(engine, chosen.split(","))
else:
    study_list(engine)
