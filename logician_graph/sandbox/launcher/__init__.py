"""The process between this house and a command: it confines the command, watches it and cleans up after it.

Runs as a program (``python -I -S launcher/ job.json``) with nothing but the standard library, because it starts once
per command. The app only writes its job (:mod:`.job`) and reads its report.
"""
