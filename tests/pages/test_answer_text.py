"""A model's text as Markdown: no picture is ever shown, whatever stands around it, and code stays as it was written."""

from __future__ import annotations

import pytest

from pages.components.answer_text import answer_markdown


@pytest.mark.parametrize(
    "code",
    [
        "```rust\nlet v = vec![1, 2];\nlet s: &str = x[a:b[0]];\n```",
        "~~~\n![kept](a.png)\n~~~",
        "````\n```\n![kept](a.png)\n```\n````",
        "```\n![kept](a.png)",
        "Use `vec![1]` and ``a ` ![kept](b)`` here.",
    ],
)
def test_code_is_left_alone(code: str) -> None:
    assert answer_markdown(code) == code


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "text {} text",
        "[{}](https://example.org)",
        "> {}",
        "- {}",
        "| a | `{}` |",
        "`a\n\n{}`",
        "`a\n# head {}`",
        "\\`a {}`",
        "`unclosed {}",
        '<a href="`">{}`',
        "    ```\n{}",
        "> ```\n{}",
        "- ```\n{}",
        "- item\n\n  ```\n{}",
        "- ```\n  code\n  ```\n{}",
        "``` not a fence ```\n{}",
        "<div>\n```\n\n{}\n```",
        "$$\n```\n$$\n{}\n```",
        ":::note\n```\n:::\n{}",
        "```\ncode\n```\n{}",
        "```\ncode\n    ```\n```\n{}",
        "~~~\n```\n~~~\n{}",
        "```\r\ncode\r```\r\n{}",
    ],
)
@pytest.mark.parametrize("picture", ["![x](http://evil/p.png)", "![](http://evil/p.png)", "![x][ref]"])
def test_no_picture_is_shown(around: str, picture: str) -> None:
    shown = answer_markdown(around.replace("{}", picture))
    assert "![" not in shown
    assert "](http://evil/p.png)" in shown or "[x][ref]" in shown


def test_directives_of_the_page_are_taken_literally() -> None:
    assert answer_markdown(":red[hot] :material/home: :blue-badge[new]") == (
        "\\:red[hot] \\:material/home: \\:blue-badge[new]"
    )
    assert (
        answer_markdown("at 10:30, see http://host:80/x or key: value")
        == "at 10:30, see http://host:80/x or key: value"
    )
