"""HTML page of a profile: what ran with its times, graphs with their kernels coloured, the kernels, and the user's lines.

The page is one file that loads nothing. It follows the reader's preference for light or dark.
"""

import linecache
import math

from ...ir.draw import drawing, view
from ...ir.draw.tables import counted, markup
from ...ir.graph.printer import format_line
from ...ir.graph.text import show
from ...ir.source_location import name_of_file
from .work import works_of

MOST_DRAWN = 1500    # nodes of a graph that is still drawn, as recorded and as it runs; larger ones are shown as text,
MOST_BETWEEN = 150   # and so are graphs between the two from here on
AROUND = 2           # lines shown before and after one of the user's

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #0f172a; --faint: #5b6b82; --line: #dde4ee; --soft: #f5f7fa;
        --accent: #4f46e5; --mark: #fef3c7 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0b1120; --ink: #e2e8f0; --faint: #94a3b8; --line: #293548; --soft: #131c2e; --accent: #a5b4fc;
          --mark: #453a12 } }
* { box-sizing: border-box }
body { font: 14px/1.5 system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; color: var(--ink); background: var(--paper);
       margin: 0 auto; max-width: 1800px; padding: 24px clamp(12px, 2vw, 32px) 64px }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere } h2 { font-size: 17px; margin: 36px 0 10px; scroll-margin-top: 52px }
.faint { color: var(--faint) } p.faint { margin: 4px 0 12px }
nav { position: sticky; top: 0; z-index: 3; background: var(--paper); padding: 10px 0; border-bottom: 1px solid var(--line);
      display: flex; flex-wrap: wrap; gap: 4px 20px }
a { color: var(--accent); text-decoration: none } a:hover { text-decoration: underline }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; border-radius: 3px }
.wide { overflow: auto; max-height: 82vh; border: 1px solid var(--line); border-radius: 8px }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-variant-numeric: tabular-nums; font-size: 13px }
thead th { position: sticky; top: 0; z-index: 1; background: var(--soft); padding: 0; text-align: right }
th button { all: unset; box-sizing: border-box; width: 100%; padding: 7px 10px; cursor: pointer; font-weight: 600;
            white-space: nowrap }
th button:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px }
th button::after { content: "\\2195"; opacity: .25; padding-left: 4px }
th[aria-sort=ascending] button::after { content: "\\2191"; opacity: 1 }
th[aria-sort=descending] button::after { content: "\\2193"; opacity: 1 }
th, td { border-bottom: 1px solid var(--line) } td { padding: 5px 10px; text-align: right; white-space: nowrap }
tbody tr:last-child td { border-bottom: 0 } tbody tr:hover td { background: var(--soft) }
.t { text-align: left } .clip { max-width: 200px; overflow: hidden; text-overflow: ellipsis }
td.name { position: sticky; left: 0; background: var(--paper); max-width: min(300px, 44vw); overflow: hidden;
          text-overflow: ellipsis; font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 12px }
.share { display: inline-block; width: 64px; height: 8px; border-radius: 4px; background: var(--line); margin-right: 8px }
.share + b { display: inline-block; min-width: 50px; font-weight: inherit }
.share i { display: block; height: 8px; min-width: 2px; border-radius: 4px; background: var(--accent) }
@media (max-width: 1720px) {      /* all columns fit from 1,400 pixels on */
  td { padding: 5px } th button { padding: 7px 5px; font-size: 12px } th button::after { padding-left: 1px }
  .clip { max-width: 130px } .share { width: 24px; margin-right: 4px } .share + b { min-width: 44px }
  td.name { max-width: min(220px, 44vw) } }
pre { font: 12px/1.5 ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; background: var(--soft); padding: 12px;
      border-radius: 8px; overflow: auto; max-height: 82vh; margin: 8px 0; tab-size: 4 }
details { border: 1px solid var(--line); border-radius: 8px; margin: 8px 0; padding: 7px 12px }
details details { border: 0; padding: 4px 0 }
summary { cursor: pointer; overflow-wrap: anywhere } mark { background: var(--mark); color: inherit }
.drawing { overflow: auto; max-height: 88vh; margin-top: 8px; border-radius: 8px; content-visibility: auto }
.drawing svg { display: block; margin: 0 auto } .drawing.fit svg { width: 100%; height: auto }
.fits { font: inherit; font-size: 12px; color: var(--accent); background: none; border: 1px solid var(--line); cursor: pointer;
        border-radius: 6px; padding: 2px 10px; margin-top: 8px }
details:target, mark:target { outline: 2px solid var(--accent); outline-offset: 2px }
@media print { nav, .fits { display: none } .wide, .drawing, pre { max-height: none; overflow: visible } }
"""

SCRIPT = """
for (const button of document.querySelectorAll('th button')) button.onclick = () => {
  const th = button.parentNode, table = th.closest('table'), body = table.tBodies[0], at = th.cellIndex;
  const first = th.dataset.first, now = th.getAttribute('aria-sort');
  const order = !now ? first : now === 'ascending' ? 'descending' : 'ascending', sign = order === 'ascending' ? 1 : -1;
  for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', order);
  const key = row => { const c = row.cells[at]; return c.dataset.n === undefined ? c.textContent : c.dataset.n };
  const rank = (a, b) => a === '' ? (b === '' ? 0 : 1) : b === '' ? -1 :
    sign * (th.dataset.words === undefined ? Number(a) - Number(b) : a.localeCompare(b));
  body.append(...[...body.rows].sort((a, b) => rank(key(a), key(b))));
};
for (const button of document.querySelectorAll('.fits')) button.onclick = () => {
  button.textContent = button.nextElementSibling.classList.toggle('fit') ? 'Full size' : 'Fit to width';
};
const shows = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  if (target) target.scrollIntoView({block: 'center', inline: 'center'});
};
addEventListener('hashchange', shows); shows();
"""


def page(title, jobs, profile) -> str:
    """Return the page of the compiled `jobs`; `profile` (a `profiling.Profile`) has the times of what ran."""
    anchors = Anchors(profile)
    parts = [f"<h1>{markup(title)}</h1>", f"<p class=faint>{markup(profile.headline())}</p>",
             "<nav aria-label=Sections><a href='#kernels'>What runs</a><a href='#graphs'>Graphs</a><a href='#code'>Kernels</a>"
             "<a href='#source'>Source</a></nav>", "<main>",
             "<h2 id=kernels>What runs</h2>", _table(profile, anchors), "<h2 id=graphs>Graphs</h2>"]
    for i, job in enumerate(jobs):
        parts += _graphs(job, f"j{i}", is_open=i < _OPEN_JOBS)
    parts += ["<h2 id=code>Kernels</h2>", *_code(anchors), "<h2 id=source>Source</h2>", *_source(profile, anchors), "</main>"]
    return ("<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
            "<meta name=viewport content='width=device-width, initial-scale=1'>"
            f"<title>{markup(title)}</title><style>{STYLE}{drawing.STYLE}</style></head><body>" + "\n".join(parts)
            + f"<script>{SCRIPT}</script></body></html>\n")


class Anchors:
    """Names inside the page of kernels and of the user's lines."""

    def __init__(self, profile):
        works = [row.work for row in profile.rows]
        self.kernels = {name: f"k{i}" for i, name in enumerate(dict.fromkeys([w.name for w in works if w.kind == "kernel"]))}
        self.texts = {w.name: str(w.step.lowered.kernel) for w in works if w.kind == "kernel"}
        self.lines = {line: f"l{i}" for i, line in enumerate(sorted({line for w in works for line in w.lines}))}


# The steps that run.

# Lines come first: a narrow window shows the first columns, and scrolls to the others.
_COLUMNS = ("#", "name", "time", "share", "lines", "operations", "over", "calls", "of roofline", "GB/s", "GFLOP/s", "bytes",
            "flops", "modules")
_TEXT = frozenset(("name", "operations", "over", "modules", "lines"))
_ASCENDING = _TEXT | {"#"}       # the order that the first click gives


def _table(profile, anchors):
    """Return the table of steps, those with the longest times first; `#` is their order in the program."""
    if not profile.rows:
        return f"<p>{markup(profile.nothing())}</p>"
    head = "".join([_heading(c) for c in _COLUMNS])
    total = sum(row.seconds for row in profile.rows) or math.inf
    numbered = sorted(enumerate(profile.rows, 1), key=lambda pair: -pair[1].seconds)
    rows = [_row(i, row, row.seconds / total, anchors) for i, row in numbered]
    return (f"<div class=wide tabindex=0><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>")


def _heading(column):
    words = " class=t data-words" if column in _TEXT else ""
    order = " aria-sort=descending" if column == "time" else ""
    first = "ascending" if column in _ASCENDING else "descending"
    return f"<th scope=col data-first={first}{words}{order}><button type=button>{column}</button></th>"


def _row(i, row, share, anchors):
    w, each, roofline = row.work, row.each, row.roofline
    name = f"<a href='#{anchors.kernels[w.name]}'>{markup(w.name)}</a>" if w.kind == "kernel" else markup(f"{w.kind} {w.name}")
    lines = ", ".join([f"<a href='#{anchors.lines[line]}'>{markup(format_line(line))}</a>" for line in w.lines])
    percent = 100 * share
    bar = f"<span class=share><i style='width:{percent:.1f}%'></i></span><b>{percent:.1f} %</b>"
    return "<tr>" + "".join([
        _number(i, str(i)), f"<td class='t name' title='{markup(w.name)}'>{name}</td>",
        _number(each, time_text(each)), _number(share if row.calls else 0, bar), f"<td class='t clip'>{lines}</td>",
        _words(w.ops), _words(w.over), _number(row.calls, f"{row.calls:,}"),
        _number(roofline or 0, f"{100 * (roofline or 0):.1f} %"), _rate(w.bytes_moved, each), _rate(w.flops, each),
        _number(w.bytes_moved, f"{w.bytes_moved:,}"), _number(w.flops, f"{w.flops:,}"), _words(", ".join(w.modules))]) + "</tr>"


def _words(text):
    return f"<td class='t clip' title='{markup(text)}'>{markup(text)}</td>"


def _number(value, shown):
    """Return a cell that sorts by its number; zeros and what is no number are empty, and come last."""
    return f"<td data-n='{value}'>{shown}</td>" if value and math.isfinite(value) else "<td data-n=''></td>"


def _rate(amount, seconds):
    rate = amount / seconds / 1e9 if seconds else 0.0
    return _number(rate, f"{rate:.1f}")


def time_text(seconds) -> str:
    """Return a time in microseconds, milliseconds or seconds."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:,.1f} µs"
    return f"{1e3 * seconds:,.2f} ms" if seconds < 1 else f"{seconds:,.2f} s"


# Graphs.

_OPEN_JOBS = 4      # drawings that are open at first, of a function of many segments


def kernel_groups(plan) -> dict:
    """Return {number and name: nodes} of the kernels of a plan that fuse several operations of its graph."""
    return {f"{i} {w.name}": w.nodes for i, w in enumerate(works_of(plan), 1) if len(w.nodes) > 1}


def _graphs(job, mark, is_open):
    """Yield the graph as it runs, with its kernels coloured, as recorded, and after each pass that changed it."""
    plan, name = job.compile().plan, job.region.name
    yield _graph(f"{name}: as it runs", plan.graph, kernel_groups(plan), MOST_DRAWN, f"{mark}-", is_open)
    for i, step in enumerate([step for step in job.steps if step.changed]):
        yield _graph(f"{name}: {step.name}", step.graph, None, MOST_BETWEEN if i else MOST_DRAWN, f"{mark}-{i}-")


def _graph(name, graph, groups, most, mark, is_open=False):
    way = "" if groups is None else " A profile saved as .svg draws a graph of any size."
    text = f"<details><summary>text</summary><pre tabindex=0>{markup(show(graph))}</pre></details>"
    if len(graph.nodes) <= most:
        drawn = ("<button type=button class=fits>Fit to width</button>"
                 f"<div class=drawing tabindex=0>{view.svg(graph, groups, mark=mark, has_style=False)}</div>")
    else:
        drawn = f"<p class=faint>Graphs of more than {most:,} nodes are not drawn here.{way}</p>"
    return (f"<details{' open' if is_open else ''}><summary>{markup(name)} <span class=faint>"
            f"{counted(len(graph.nodes), 'node')}</span></summary>{drawn}{text}</details>")


# Kernels and source.


def _code(anchors):
    if not anchors.texts:
        yield "<p class=faint>No kernels are generated for this.</p>"
    for name, text in anchors.texts.items():
        yield (f"<details id='{anchors.kernels[name]}'><summary>{markup(name)}</summary>"
               f"<pre tabindex=0>{markup(text)}</pre></details>")


def _source(profile, anchors):
    """Yield the user's lines that operations come from by file, each with a few around it and its share of the time."""
    total = sum(row.seconds for row in profile.rows)
    shares: dict = {}
    for row in profile.rows:
        for line in row.work.lines:
            shares[line] = shares.get(line, 0.0) + (row.seconds / total if total else 0.0)
    if not anchors.lines:
        yield "<p class=faint>No step comes from a line of the program.</p>"
    elif total:
        yield "<p class=faint>Percentages are times of steps. A kernel that joins several lines counts for each of them.</p>"
    for file in dict.fromkeys([file for file, _ in anchors.lines]):
        numbers = {n: anchors.lines[f, n] for f, n in anchors.lines if f == file}
        yield (f"<details open><summary>{markup(name_of_file(file))} <span class=faint>{markup(file)}</span></summary>"
               f"<pre tabindex=0>{_excerpt(file, numbers, shares)}</pre></details>")


def _excerpt(file, numbers: dict, shares: dict) -> str:
    """Return some lines of a file with those around them. A file that is gone has numbers alone."""
    shown = sorted({n for number in numbers for n in range(max(1, number - AROUND), number + AROUND + 1)})
    lines, last = [], 0
    if not linecache.getlines(file):
        lines.append("<span class=faint>(the text of this file is not there any more)</span>")
    for n in shown:
        words = linecache.getline(file, n).rstrip("\n")
        if not words and n not in numbers:
            continue
        if last and n > last + 1:
            lines.append("<span class=faint>     ...</span>")
        last = n
        share = f"{100 * shares[file, n]:5.1f} %" if n in numbers else " " * 7
        text = f"{n:5}  {share}  {markup(words)}"
        lines.append(f"<mark id='{numbers[n]}'>{text}</mark>" if n in numbers else text)
    return "\n".join(lines)
