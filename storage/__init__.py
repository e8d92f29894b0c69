"""Storage: the tables, the one way to them, and the schema. Imports nothing of Logician's rooms.

Everything durable goes through here: threads and messages, runs and their ledger, approvals, settings, rules,
LangGraph checkpoints. The room keeps what it is told and raises when it cannot; it decides nothing.
"""

from storage.checkpoints import checkpointed, open_checkpoints
from storage.database import Database, default_url
from storage.errors import LostOwnership, NotOpen, StorageError
from storage.ids import new_id, now
from storage.preference_store import PreferenceStore
from storage.preferences import Rule, Setting
from storage.run_ledger import Change, RunLedger
from storage.run_overview import ApprovalRow, RunFilter, RunOrder, RunOverview, RunRow, UsageSum
from storage.runs import Approval, Intent, Run, RunEvent, Worker
from storage.schema import upgrade
from storage.studies import Exchange, Sample, Score, Study
from storage.study_lines import SampleLine, StudyLines
from storage.study_store import StudyStore, Tally, advance
from storage.thread_store import ThreadStore, next_depth
from storage.threads import Blob, Message, Thread
from storage.worker_registry import WorkerRegistry

__all__ = [
    "Approval",
    "ApprovalRow",
    "Blob",
    "Change",
    "Database",
    "Exchange",
    "Intent",
    "LostOwnership",
    "Message",
    "NotOpen",
    "PreferenceStore",
    "Rule",
    "Run",
    "RunEvent",
    "RunFilter",
    "RunLedger",
    "RunOrder",
    "RunOverview",
    "RunRow",
    "Sample",
    "SampleLine",
    "Score",
    "Setting",
    "StorageError",
    "Study",
    "StudyLines",
    "StudyStore",
    "Tally",
    "Thread",
    "ThreadStore",
    "UsageSum",
    "Worker",
    "WorkerRegistry",
    "advance",
    "checkpointed",
    "default_url",
    "new_id",
    "next_depth",
    "now",
    "open_checkpoints",
    "upgrade",
]
