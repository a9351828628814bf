"""Sphinx extension of the manual: generates pages before the build, links files of the repository, shows source with lines.

Pages in Markdown name files by their path in the repository (`../SECURITY.md`). In the manual such a link leads to the file's
copy below `docs/generated`. The role `source` takes `file:line` and leads to that line of a page with the file's text.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer, TextLexer

from . import FILES, ROOT, copy_name, write

_LINK = re.compile(r"\]\(((?:\.\./)*)([\w./-]+\.md)((?:#[\w-]+)?)\)")


def rewrite_links(app, docname, source):
    """Lead links to Markdown outside of `docs` to the copies of these files."""
    folder = (Path(app.srcdir) / docname).parent

    def target(link):
        file = (folder / (link[1] + link[2])).resolve()
        name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else ""
        return f"](/{copy_name(name)}{link[3]})" if name in FILES else link[0]

    source[0] = _LINK.sub(target, source[0])


def source_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Make a link of `file:line`."""
    file, _, line = text.rpartition(":")
    environment = inliner.document.settings.env
    if not hasattr(environment, "shown_sources"):
        environment.shown_sources = {}
    environment.shown_sources.setdefault(environment.docname, set()).add(file)
    up = "../" * environment.docname.count("/")
    node = nodes.reference(rawtext, text, refuri=f"{up}source/{file.removesuffix('.py')}.html#line-{line}", internal=True)
    return [node], []


def merge_sources(app, env, docnames, other):
    """Take over the files that pages of another process name."""
    env.shown_sources = {**getattr(env, "shown_sources", {}), **getattr(other, "shown_sources", {})}


def source_pages(app):
    """Yield a page with the text of each file that a page of the reference names."""
    formatter = HtmlFormatter(linenos="inline", linespans="line", nowrap=False)
    files = sorted(set().union(*getattr(app.env, "shown_sources", {}).values(), set()))
    for file in files if app.builder.format == "html" else ():
        text = highlight((ROOT / file).read_text(encoding="utf-8"), PythonLexer(), formatter)
        yield f"source/{file.removesuffix('.py')}", {"title": file, "body": f"<h1>{html.escape(file)}</h1>{text}"}, "page.html"


def setup(app):
    """Register the hooks."""
    app.add_role("source", source_role)
    app.add_lexer("mermaid", TextLexer)     # diagrams of ARCHITECTURE.md, as text
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated"))
    app.connect("source-read", rewrite_links)
    app.connect("env-merge-info", merge_sources)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
