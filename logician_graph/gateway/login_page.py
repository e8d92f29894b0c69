"""The page that asks a browser for the access token. Plain HTML without scripts or outside files."""

from __future__ import annotations

from html import escape

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Logician: access token</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 15vh auto 0; padding: 0 1.25rem; }}
  label, input, button {{ display: block; font: inherit; }}
  input {{ box-sizing: border-box; width: 100%; margin: .35rem 0 1rem; padding: .5rem .6rem; }}
  button {{ padding: .45rem 1.2rem; }}
  .wrong {{ border-left: .25rem solid #c0362c; padding-left: .75rem; }}
  code {{ font-family: ui-monospace, monospace; }}
</style>
</head>
<body>
<h1>Logician</h1>
{notice}<p>This server asks for its access token. It was printed with its address when the server started, and is kept
in the file <code>token</code> in its home folder.</p>
<form method="post" action="/login">
  <label for="token">Access token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <input name="next" type="hidden" value="{next}">
  <button>Open the workbench</button>
</form>
</body>
</html>
"""


def login_page(next_path: str, *, wrong: bool) -> str:
    """The form; afterwards the browser goes on to ``next_path``. ``wrong``: say that the last token was not right."""
    notice = '<p class="wrong" role="alert">That token is not right.</p>\n' if wrong else ""
    return _PAGE.format(notice=notice, next=escape(next_path, quote=True))
