"""What a model wrote, made safe to show as Markdown. Pure.

Outside code, pictures become links (showing one would fetch an address that the model chose, with whatever it put into
it) and the page's own directives (colours, badges, icons) are taken literally. HTML is already shown as text.

What counts as code is judged narrowly, so that no text can talk its way out: a fence at the start of a line, closed by
a fence, or backticks within a line. After a line on which Markdown's own rules may see something else (HTML, formulas,
directives) no fence is believed any more. The price is a lost exclamation mark in rare code, never a fetched picture.
"""

from __future__ import annotations

import re

_OPEN = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ANY_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:`{3,}|~{3,})")
_UNSURE = ("<", "$$", ":::")
_CODE = re.compile(r"(?<![\\`])(`+)(?!`)[^`].*?(?<!`)\1(?!`)")
_PICTURE = re.compile(r"!(?=\[)")
_NAMELESS = re.compile(r"!\[\](?=\()")
_DIRECTIVE = re.compile(r":(?=[a-zA-Z][\w+\-/]*[\[:{])")


def answer_markdown(text: str) -> str:
    """``text`` for ``st.markdown``."""
    lines: list[str] = []
    fence: str | None = None
    sure, loosely_in_code = True, False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if fence is not None:
            lines.append(line)
            if re.fullmatch(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*", line):
                fence = None
            continue
        if line.lstrip(" \t>").startswith(_UNSURE):
            sure = False
        opened = _OPEN.match(line) if sure else None
        if opened is not None:
            fence = opened[1] or opened[2]
            lines.append(line)
            continue
        if _ANY_FENCE.match(line):
            loosely_in_code = not loosely_in_code
        lines.append(_prose(line, directives=not loosely_in_code))
    return "\n".join(lines)


def _prose(line: str, *, directives: bool) -> str:
    if "<" in line or "|" in line:  # a tag or a table's cell may begin inside what looks like code
        return _literal(line, directives=directives and "`" not in line)
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(line):
        parts += [_literal(line[at : code.start()], directives=directives), code[0]]
        at = code.end()
    return "".join([*parts, _literal(line[at:], directives=directives)])


def _literal(text: str, *, directives: bool) -> str:
    text = _PICTURE.sub("", _NAMELESS.sub("[picture]", text))
    return _DIRECTIVE.sub(r"\:", text) if directives else text
