"""Where everything is kept, how much of it there is, and how to back it up."""

from __future__ import annotations

import streamlit as st

from logician_graph.engine import Engine
from pages.components.words import code, count, plain, size


def storage(engine: Engine) -> None:
    """The storage section."""
    facts = engine.inspector.storage()
    with st.grid(4, min_column_width=150, gap="xsmall"):
        st.metric("Chats", count(facts.threads), border=True)
        st.metric("Runs", count(facts.runs), border=True)
        st.metric(
            "Database", "on a server" if facts.database_bytes is None else size(facts.database_bytes), border=True
        )
        st.metric("Free on this disk", size(facts.free_bytes), border=True)
    st.table(
        {
            "Home folder": code(str(facts.home)),
            "Database": code(facts.database),
            "Models": f"{size(facts.models_bytes)} in {code(str(facts.home / 'models'))}",
            "Saved outputs and attachments": f"{size(facts.artifacts_bytes)} in {code(str(facts.home / 'artifacts'))}",
            "Keys": f"{code(str(facts.home / 'secrets.json'))}, readable by its owner alone",
        },
        border="horizontal",
    )
    st.subheader("Backup", anchor=False)
    if facts.database_bytes is None:
        st.markdown(
            "The tables are on a database server: back it up with its own tools (`pg_dump`). "
            "Copy the home folder too, for outputs, attachments and keys; models can be downloaded again."
        )
        return
    st.markdown("Everything is in the home folder. Stop Logician, then copy the folder:")
    st.code(f"cp -a {facts.home} {facts.home}-backup", language="bash")
    st.markdown("While it runs, copy the database with SQLite's own tool, which gives one consistent file:")
    st.code(f'sqlite3 {facts.home / "logician.db"} ".backup {facts.home / "backup.db"}"', language="bash")
    st.caption(
        plain("Deleted chats can be restored for 30 days, then they are removed for good. ")
        + f"`{plain('models')}` may be left out of a backup: it can be downloaded again."
    )
