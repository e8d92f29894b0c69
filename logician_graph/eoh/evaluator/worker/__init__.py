"""The processes behind the evaluator: one that judges, one that forks, and one per candidate.

Runs as a program (``python worker/``) in an interpreter of its own, because the server has threads and native code and
must not be forked::

    server ──pipes── judge ──socket── nursery ──fork── candidate (one each, confined, killed at its limit)

The *judge* (:mod:`.judge`) holds the instances with their answers, reads solutions from the candidate's pipe, measures
them and keeps the time. The *nursery* (:mod:`.nursery`) was forked from it before an instance was read, so a candidate,
forked from the nursery, has no memory in which an answer could be found: only what the problem's ``visible`` lets
through. It runs no candidate itself. The *candidate* (:mod:`.candidate`) confines itself (:mod:`.confine`) before it
even parses the code.

When the server dies, however it dies, the judge goes with it, then the nursery, then the candidate.
"""
