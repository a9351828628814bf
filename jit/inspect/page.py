"""HTML page of a traced function: times, graphs before and after passes with their kernels coloured, kernels, and the user's
lines."""

import linecache
import math
from html import escape

from ...ir.draw import view
from ...ir.graph.printer import format_line
from ...ir.graph.text import show
from .work import works_of

MOST_DRAWN = 1500    # nodes of a graph that is still drawn, as recorded and as it runs; larger ones are shown as text,
MOST_BETWEEN = 150   # and so are graphs between the two from here on
AROUND = 2           # lines shown before and after one of the user's

STYLE = """
:root { --ink: #0f172a; --faint: #64748b; --line: #e2e8f0; --accent: #4f46e5 }
* { box-sizing: border-box }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 1800px; padding: 24px }
h1 { font-size: 22px; margin: 0 } h2 { font-size: 16px; margin: 32px 0 8px } .faint { color: var(--faint) }
nav a { margin-right: 16px } a { color: var(--accent); text-decoration: none } a:hover { text-decoration: underline }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th { position: sticky; top: 0; background: #f8fafc; cursor: pointer; text-align: right; white-space: nowrap; user-select: none }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line) } td { text-align: right; white-space: nowrap }
.t { text-align: left } .ops { max-width: 260px; overflow: hidden; text-overflow: ellipsis }
th.up::after { content: " \\25b2" } th.down::after { content: " \\25bc" }
.bar { display: inline-block; height: 9px; background: var(--accent); border-radius: 2px; vertical-align: middle }
pre { font: 12px/1.4 ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; background: #f8fafc; padding: 12px;
      border-radius: 8px; overflow-x: auto; margin: 6px 0 }
details { border: 1px solid var(--line); border-radius: 8px; margin: 6px 0; padding: 6px 12px }
summary { cursor: pointer } mark { background: #fef08a } .drawing { overflow: auto; max-height: 80vh }
:target { outline: 2px solid var(--accent) }
"""

SCRIPT = """
for (const th of document.querySelectorAll('th')) th.onclick = () => {
  const table = th.closest('table'), body = table.tBodies[0], at = th.cellIndex, down = !th.classList.contains('down');
  for (const other of table.querySelectorAll('th')) other.classList.remove('up', 'down');
  th.classList.add(down ? 'down' : 'up');
  const key = row => { const c = row.cells[at]; return c.dataset.n === undefined ? c.textContent : Number(c.dataset.n) };
  const order = [...body.rows].sort((a, b) => { const x = key(a), y = key(b); return x < y ? -1 : x > y ? 1 : 0 });
  body.append(...(down ? order.reverse() : order));
};
for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener('click', () => {
  const found = document.getElementById(link.getAttribute('href').slice(1)), around = found && found.closest('details');
  if (around) around.open = true;
});
"""


def page(title, jobs, profile) -> str:
    """Return the page of the compiled `jobs`; `profile` (a `profiling.Profile`) has the times of what ran."""
    parts = [f"<h1>{escape(title)}</h1>", f"<p class='faint'>{escape(profile.headline())}</p>",
             "<nav><a href='#kernels'>What runs</a><a href='#graphs'>Graphs</a><a href='#code'>Kernels</a>"
             "<a href='#source'>Source</a></nav>",
             "<h2 id='kernels'>What runs</h2>", _table(profile), "<h2 id='graphs'>Graphs</h2>"]
    for job in jobs:
        parts += _graphs(job)
    parts += ["<h2 id='code'>Kernels</h2>", *_code(profile), "<h2 id='source'>Source</h2>", *_source(profile)]
    return ("<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>" + "\n".join(parts)
            + f"<script>{SCRIPT}</script></body></html>\n")


# The steps that run.

_COLUMNS = ("", "name", "operations", "over", "calls", "time", "share", "bytes", "flops", "GB/s", "GFLOP/s", "of roofline",
            "modules", "lines")
_TEXT = frozenset(("name", "operations", "over", "modules", "lines"))


def _table(profile):
    head = "".join([f"<th{' class=t' if c in _TEXT else ''}>{c}</th>" for c in _COLUMNS])
    total = sum(row.seconds for row in profile.rows) or math.inf
    rows = [_row(i, row, row.seconds / total) for i, row in enumerate(profile.rows)]
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _row(i, row, share):
    w = row.work
    name = f"<a href='#k-{escape(w.name)}'>{escape(w.name)}</a>" if w.kind == "kernel" else escape(f"{w.kind} {w.name}")
    lines = ", ".join([f"<a href='#{_anchor(line)}'>{escape(format_line(line))}</a>" for line in w.lines])
    bar = f"<span class='bar' style='width:{100 * share:.1f}px'></span> {100 * share:.1f} %"
    each, roofline = row.each, row.roofline
    return "<tr>" + "".join([
        _number(i, str(i + 1)), f"<td class=t>{name}</td>", f"<td class='t ops' title='{escape(w.ops)}'>{escape(w.ops)}</td>",
        f"<td class='t ops' title='{escape(w.over)}'>{escape(w.over)}</td>", _number(row.calls, str(row.calls)),
        _number(each, _time(each) if each else ""), _number(share, bar if row.calls else ""),
        _number(w.bytes_moved, f"{w.bytes_moved:,}"), _number(w.flops, f"{w.flops:,}"),
        _rate(w.bytes_moved, each), _rate(w.flops, each),
        _number(roofline or 0, "" if roofline is None else f"{100 * roofline:.0f} %"),
        f"<td class=t>{escape(', '.join(w.modules))}</td>", f"<td class=t>{lines}</td>"]) + "</tr>"


def _number(value, shown):
    return f"<td data-n='{value}'>{shown}</td>"


def _rate(amount, seconds):
    rate = amount / seconds / 1e9 if seconds else 0.0
    return _number(rate, f"{rate:.1f}" if rate else "")


def _time(seconds):
    return f"{1e6 * seconds:,.1f} µs" if seconds < 1e-3 else f"{1e3 * seconds:,.2f} ms"


# Graphs.


def _graphs(job):
    """Yield the graph as recorded, after each pass that changed it, and as it runs, with its kernels coloured."""
    for i, step in enumerate([step for step in job.steps if step.changed]):
        yield _graph(f"{job.region.name}: {step.name}", step.graph, None, MOST_BETWEEN if i else MOST_DRAWN)
    plan = job.compile().plan
    groups = {f"{i} {w.name}": w.nodes for i, w in enumerate(works_of(plan), 1) if len(w.nodes) > 1}
    yield _graph(f"{job.region.name}: as it runs", plan.graph, groups, MOST_DRAWN, is_open=True)


def _drawing(graph, groups):
    """Return the graph's drawing, with names that no other drawing on the page has."""
    mark = f"g{id(graph):x}{'c' if groups else ''}-"
    return view.svg(graph, groups).replace(' id="', f' id="{mark}').replace('href="#', f'href="#{mark}')


def _graph(name, graph, groups, most, is_open=False):
    text = f"<details><summary>text</summary><pre>{escape(show(graph))}</pre></details>"
    count = f"{len(graph.nodes)} nodes"
    if len(graph.nodes) <= most:
        drawn = f"<div class='drawing'>{_drawing(graph, groups)}</div>"
    else:
        drawn = "<p class='faint'>Too many nodes for a drawing here.</p>"
    return (f"<details{' open' if is_open else ''}><summary>{escape(name)} <span class='faint'>{count}</span></summary>"
            f"{drawn}{text}</details>")


# Kernels and source.


def _code(profile):
    found = [row.work for row in profile.rows if row.work.kind == "kernel"]
    kernels = {w.name: str(w.step.lowered.kernel) for w in found}
    for name, text in kernels.items():
        yield f"<details id='k-{escape(name)}'><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"


def _anchor(line):
    file, number = line
    return f"l-{escape(file, quote=True)}-{number}"


def _source(profile):
    """Yield the user's lines that operations come from, each with a few around it."""
    lines = sorted({line for row in profile.rows for line in row.work.lines})
    for file, number in lines:
        around = [(n, linecache.getline(file, n).rstrip("\n")) for n in range(max(1, number - AROUND), number + AROUND + 1)]
        shown = [f"{n:5}  {escape(words)}" for n, words in around if words or n == number]
        shown = [f"<mark>{s}</mark>" if s.split(maxsplit=1)[0] == str(number) else s for s in shown]
        yield (f"<details id='{_anchor((file, number))}' open><summary>{escape(file)}:{number}</summary>"
               f"<pre>{chr(10).join(shown)}</pre></details>")
