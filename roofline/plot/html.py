"""One HTML file that needs nothing else: the SVG inline, a table, light and dark."""

from __future__ import annotations

import re
from html import escape

from roofline.plot.picture import Picture, Table, svg
from roofline.plot.style import THEMES, Theme

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="{schemes}">
<title>{title}</title>
<style>
{variables}
body {{ margin: 0 auto; max-width: 1200px; padding: 12px; background: var(--background);
  color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }}
svg {{ width: 100%; height: auto; }}
g[id^="kernel-"]:hover {{ filter: brightness(1.25) drop-shadow(0 0 3px var(--ink)); }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }}
th, td {{ padding: 4px 7px; text-align: left; border-bottom: 1px solid var(--grid);
  vertical-align: top; white-space: nowrap; }}
td:nth-child(2) {{ white-space: normal; overflow-wrap: anywhere; min-width: 14em; }}
th {{ color: var(--muted); font-weight: 600; }}
tr:hover td {{ background: var(--panel); }}
</style>
</head>
<body>
{svg}
<div class="table">{table}</div>
</body>
</html>
"""


def page(picture: Picture, *, both_themes: bool) -> str:
    """The picture as a page; with ``both_themes`` it follows the reader's setting."""
    theme = THEMES[picture.theme]
    if both_themes:
        variables = (
            f":root {{ {_declarations(THEMES['light'])} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ {_declarations(THEMES['dark'])} }} }}"
        )
    else:
        variables = f":root {{ {_declarations(theme)} }}"
    return _PAGE.format(
        title=escape(picture.title),
        schemes="light dark" if both_themes else picture.theme,
        variables=variables,
        svg=_inline(svg(picture), theme),
        table=_table(picture.table),
    )


def _declarations(theme: Theme) -> str:
    return " ".join(f"--{role}: {color};" for role, color in theme.roles().items())


def _inline(text: str, theme: Theme) -> str:
    """The ``svg`` element alone, with a variable in place of each of the theme's colours."""
    text = text[text.index("<svg ") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    role_of = {color: role for role, color in theme.roles().items()}

    def variable(match: re.Match[str]) -> str:
        role = role_of.get(match[2].lower())
        return match[0] if role is None else f"{match[1]}: var(--{role})"

    return re.sub(r"\b(fill|stroke): (#[0-9a-fA-F]{6})\b", variable, text)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "\n".join(
        f'<tr id="row-{escape(name)}">{"".join(f"<td>{escape(c)}</td>" for c in row)}</tr>'
        for name, row in zip(table.ids, table.rows, strict=True)
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
