"""What a model wrote, made safe to show as Markdown. Pure.

Code stays as it is. Outside it, pictures become links (showing one would fetch an address that the model chose) and
the page's own directives (colours, badges, icons) are taken literally. HTML is already shown as text.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"(`+)(?!`)(?:.|\n)*?(?<!`)\1(?!`)")
_FENCE = re.compile(r"^\s*(?:>\s*)*(`{3,}|~{3,})")
_DIRECTIVE = re.compile(r":(?=[a-zA-Z][\w+\-/]*[\[:{])")
_PICTURE = re.compile(r"!(?=\[)")
_NAMELESS = re.compile(r"\[\](?=\()")


def answer_markdown(text: str) -> str:
    """``text`` for ``st.markdown``."""
    shown: list[str] = []
    prose: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence is None and mark is None:
            prose.append(line)
            continue
        if fence is None and mark is not None:
            shown += _prose(prose)
            prose, fence = [], mark[1]
        elif mark is not None and fence is not None and mark[1].startswith(fence) and line.strip("> \t") == mark[1]:
            fence = None
        shown.append(line)
    return "\n".join(shown + _prose(prose))


def _prose(lines: list[str]) -> list[str]:
    if not lines:
        return []
    text = "\n".join(lines)
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        parts += [_literal(text[at : code.start()]), code[0]]
        at = code.end()
    return ["".join([*parts, _literal(text[at:])])]


def _literal(text: str) -> str:
    return _DIRECTIVE.sub(r"\:", _NAMELESS.sub("[picture]", _PICTURE.sub("", text)))
