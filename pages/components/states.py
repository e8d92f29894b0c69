"""How a run's state looks: an icon and a word in one of the five status colours, the same everywhere. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from storage import Run


@dataclass(frozen=True, slots=True)
class Look:
    """A state as a person sees it; ``icon`` is a Material symbol's name, ``color`` one of Streamlit's."""

    word: str
    icon: str
    color: str

    @property
    def badge(self) -> str:
        """Markdown for running text."""
        return f":{self.color}-badge[:material/{self.icon}: {self.word}]"


STATES: dict[str, Look] = {
    "queued": Look("Queued", "hourglass_top", "gray"),
    "running": Look("Running", "play_circle", "blue"),
    "waiting": Look("Waits for you", "front_hand", "orange"),
    "completed": Look("Completed", "check_circle", "green"),
    "needs_input": Look("Needs input", "contact_support", "orange"),
    "blocked": Look("Blocked", "block", "orange"),
    "failed": Look("Failed", "error", "red"),
    "cancelled": Look("Stopped", "stop_circle", "gray"),
}
"""By status, and for runs that are done by outcome."""


def state_of(run: Run) -> str:
    """The outcome of a run that is done, else its status."""
    return (run.outcome or "failed") if run.status == "done" else run.status


def look(run: Run) -> Look:
    """How the state of ``run`` looks."""
    return STATES.get(state_of(run), Look(state_of(run), "help", "gray"))


def seconds_of(run: Run) -> float | None:
    """Seconds of work; None before it began."""
    seconds = run.usage.get("seconds")
    return float(seconds) if seconds else None
