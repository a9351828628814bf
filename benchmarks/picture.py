"""Pictures of results, as SVG: bars of ratios to the best peer, and a roofline."""

import math
from html import escape

from .result import Result

ROW, BAR, TOP, LEFT, WIDTH, RIGHT = 26, 8, 70, 340, 460, 120
GOOD, FAIR, POOR, INK, FAINT = "#2a7f62", "#d9a21b", "#c0432b", "#22303c", "#dde3e8"
SHADES = (0.55, 1.0)                       # of few and many threads
STYLE = ("text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:%s}.h{font-size:15px;font-weight:bold}"
         ".s{font-size:11px;fill:#6b7a86}.e{text-anchor:end}.m{text-anchor:middle}" % INK)


def page(width, height, parts) -> str:
    """An SVG document."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def text(x, y, words, kind="") -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'


def line(x1, y1, x2, y2, color=FAINT, width=1.0, dashes="") -> str:
    """A straight line."""
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"{style}/>'


def bar_of(result: Result) -> float:
    """What the ratio to the best peer should be."""
    return result.bars.get("best", 1.0)


def colour(result: Result) -> str:
    """Green where the bar is reached, amber where ingot is at least as fast, red where it is not."""
    return GOOD if result.ratio >= max(bar_of(result), 1.0) else FAIR if result.ratio >= 1 else POOR


def ratios_picture(results: list[Result], title: str) -> str:
    """Bars to the right of 1 where ingot is faster than the best peer, to the left where it is slower, on a log scale."""
    rows = [r for r in results if r.ratio is not None]
    if not rows:
        return page(600, 60, [text(20, 35, "Nothing was compared with a peer.")])
    counts = sorted({r.threads for r in rows})
    names = list(dict.fromkeys((r.group, r.name) for r in rows))
    reach = min(max(max(abs(math.log2(r.ratio)) for r in rows), 1.0) * 1.05, 5.0)

    def at(ratio):
        return LEFT + WIDTH * (0.5 + 0.5 * max(-1.0, min(1.0, math.log2(ratio) / reach)))

    parts, y, group = [], TOP, None
    for key in names:
        if key[0] != group:
            group, y = key[0], y + 22
            parts.append(text(20, y, group, "h"))
            y += 10
        parts += ratio_row(key[1], [r for r in rows if (r.group, r.name) == key], counts, y, at)
        y += ROW
    grid = []
    for power in range(-int(reach), int(reach) + 1):
        grid.append(line(at(2**power), TOP, at(2**power), y, INK if power == 0 else FAINT))
        grid.append(text(at(2**power), TOP - 6, f"{2**power:g}x" if power >= 0 else f"1/{2**-power}", "s m"))
    threads = " and ".join(map(str, counts))
    head = [text(20, 26, "Best peer's time / ingot's", "h"),
            text(20, 44, f"{title}; {threads} thread{'s' if threads != '1' else ''}"
                         f"{', the paler bar the fewer' if len(counts) > 1 else ''}; a tick is what is asked for", "s")]
    return page(LEFT + WIDTH + RIGHT, y + 20, head + grid + parts)


def ratio_row(name, rows, counts, y, at):
    """The bars of one workload, one for each number of threads."""
    parts = [text(LEFT - 10, y + ROW / 2 + 2, name if len(name) <= 52 else name[:50] + "…", "e")]
    height = min(BAR, (ROW - 6) / len(counts))
    for r in rows:
        i = counts.index(r.threads)
        shade = SHADES[1] if i == len(counts) - 1 else SHADES[0]
        top = y + 3 + i * (height + 1) + (ROW - 6 - len(counts) * (height + 1)) / 2
        left, right = sorted((at(1), at(r.ratio)))
        words = f"{r.name}, {r.threads} threads: {r.ratio:.2f} x {r.best_peer}"
        parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 1):.1f}" height="{height:.1f}" '
                     f'fill="{colour(r)}" opacity="{shade}"><title>{escape(words)}</title></rect>')
    last = rows[-1]
    parts.append(text(LEFT + WIDTH + 8, y + ROW / 2 + 2, f"{last.ratio:.2f}  {last.best_peer}", "s"))
    if "best" in last.bars and last.bars["best"] != 1.0:
        parts.append(line(at(last.bars["best"]), y + 2, at(last.bars["best"]), y + ROW - 4, INK, 1.5))
    return parts


def roofline_picture(results: list[Result], title: str) -> str:
    """Arithmetic and memory traffic of workloads under what the machine can do, for the most threads measured."""
    threads = max((r.threads for r in results), default=1)
    dots = [r for r in results if r.threads == threads and r.flops and r.bytes and r.peaks and "ingot" in r.seconds]
    if not dots:
        return page(600, 60, [text(20, 35, "No workload of known flops and bytes was measured.")])
    width, height, left, top = 760, 460, 80, 60
    peaks = dots[0].peaks
    intensities = [r.flops / r.bytes for r in dots]
    low, high = math.floor(math.log10(min(intensities)) - 0.3), math.ceil(math.log10(max(intensities)) + 0.3)
    most = math.log10(peaks["flops"]) + 0.3
    least = min(most - 2.5, math.log10(min(r.flops / r.seconds["ingot"] for r in dots)) - 0.3)

    def at(intensity, speed):
        x = left + (width - left - 40) * (math.log10(intensity) - low) / (high - low)
        return x, top + (height - top - 60) * (most - math.log10(speed)) / (most - least)

    knee = peaks["flops"] / peaks["bytes"]
    start = max(10.0**low, 10**least / peaks["bytes"])
    parts = [text(20, 26, "Roofline: ingot under what this machine reaches", "h"),
             text(20, 44, f"{title}; {threads} thread{'s' if threads != 1 else ''}; {peaks['flops'] / 1e9:.0f} GFLOP/s, "
                          f"{peaks['bytes'] / 1e9:.0f} GB/s", "s"),
             text(width / 2, height - 14, "floating point operations a byte", "s m")]
    bottom = at(1, 10**least)[1]
    for power in range(low, high + 1):
        x = at(10.0**power, 1e9)[0]
        parts += [line(x, top, x, bottom), text(x, bottom + 18, f"{10.0**power:g}", "s m")]
    for power in range(math.ceil(least), math.floor(most) + 1):
        y = at(1, 10.0**power)[1]
        parts += [line(left, y, width - 40, y), text(left - 6, y + 4, f"{10.0**(power - 9):g} GF/s", "s e")]
    if start < knee:
        parts.append(line(*at(start, start * peaks["bytes"]), *at(knee, peaks["flops"]), INK, 2))
    parts.append(line(*at(max(knee, start), peaks["flops"]), width - 40, at(1, peaks["flops"])[1], INK, 2))
    for r in dots:
        x, y = at(r.flops / r.bytes, r.flops / r.seconds["ingot"])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{GOOD if r.share >= 0.85 else FAIR}"><title>'
                     f"{escape(r.name)}: {r.share:.0%}</title></circle>")
        parts.append(text(x + 6, y + 4, r.name, "s"))
    return page(width, height, parts)
