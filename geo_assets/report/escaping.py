"""Make model text safe to show: it is untrusted and may hold markup, control or direction characters.

Jinja2's autoescape covers HTML; Markdown has no such switch, so the filters here escape its punctuation
and fence whole texts.
"""

from __future__ import annotations

import html
import re
import unicodedata

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$^=:/@])")
_LIMIT = 1200


def clean(words: str, limit: int = _LIMIT) -> str:
    """Drop control, format (bidirectional overrides, zero width) and surrogate characters; cut at `limit`.

    >>> clean("a\\x00b\\u202ec")
    'abc'
    """
    kept = [
        c for c in words[: limit * 4] if c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co")
    ]
    text = "".join(kept).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def markdown(words: object) -> str:
    """Escape text for one line of Markdown, table cells included.

    >>> markdown("a|b <i>[x](y)</i>")
    'a\\\\|b &lt;i&gt;\\\\[x\\\\]\\\\(y\\\\)&lt;\\\\/i&gt;'
    """
    one_line = " ".join(str(words).split())
    return html.escape(_MARKDOWN.sub(r"\\\1", one_line), quote=False)


def prose(words: object) -> str:
    """Escape the product's own sentences lightly: markup and pipes, but not every full stop."""
    one_line = " ".join(str(words).split())
    return html.escape(re.sub(r"([\\`*_\[\]|~])", r"\\\1", one_line), quote=False)


def fenced(words: str) -> str:
    """A fenced block that the text inside cannot close.

    >>> print(fenced("x ``` y"))
    ````text
    x ``` y
    ````
    """
    longest = max((len(run) for run in re.findall(r"`+", words)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{words}\n{fence}"
