"""Pictures of results, as SVG: bars of ratios to the best peer, and a roofline."""

import math
from html import escape

from .result import Result, on_threads

ROW, BAR, TOP, LEFT, WIDTH, RIGHT = 26, 8, 70, 340, 460, 160
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


def failed(result: Result) -> bool:
    """Whether ingot could not do the work, or did it wrong."""
    return "ingot" in result.failed


def shown(result: Result) -> float | None:
    """The ratio that is drawn: to the best peer, or that of eager code where nothing is traced; 1 for a failure."""
    if failed(result):
        return 1.0
    return result.eager_ratio if result.ratio is None else result.ratio


def wanted_ratio(result: Result) -> float:
    """Return the ratio to reach."""
    return result.bars.get("eager" if result.ratio is None else "best", 1.0)


def colour(result: Result) -> str:
    """Green where the bar is reached, amber where ingot is at least as fast, red where it is not."""
    if failed(result) or shown(result) < 1:
        return POOR
    return GOOD if shown(result) >= wanted_ratio(result) else FAIR


def in_short(result: Result) -> str:
    """The ratio and the peer it is to."""
    return "FAILED" if failed(result) else f"{shown(result):.2f}  {'torch' if result.ratio is None else result.best_peer}"


def ratios_picture(results: list[Result], title: str) -> str:
    """Bars to the right of 1 where ingot is faster than the best peer, to the left where it is slower, on a log scale."""
    rows = [r for r in results if shown(r) is not None]
    if not rows:
        return page(600, 60, [text(20, 35, "Nothing was compared with a peer.")])
    counts = sorted({r.threads for r in rows})
    names = list(dict.fromkeys((r.group, r.name) for r in rows))
    reach = min(max(max(abs(math.log2(shown(r))) for r in rows), 1.0) * 1.05, 5.0)

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
    threads = " and ".join(map(on_threads, counts)) + (" (paler: the fewer)" if len(counts) > 1 else "")
    head = [text(20, 26, "Best peer's time / ingot's", "h"),
            text(20, 44, f"{title}; {threads}; ticks are what is asked for", "s")]
    return page(LEFT + WIDTH + RIGHT, y + 20, head + grid + parts)


def ratio_row(name, rows, counts, y, at):
    """The bars of one workload, one for each number of threads."""
    parts = [text(LEFT - 10, y + ROW / 2 + 2, name if len(name) <= 52 else name[:50] + "…", "e")]
    height = min(BAR, (ROW - 6) / len(counts))
    for r in rows:
        i = counts.index(r.threads)
        shade = SHADES[1] if i == len(counts) - 1 else SHADES[0]
        top = y + 3 + i * (height + 1) + (ROW - 6 - len(counts) * (height + 1)) / 2
        left, right = sorted((at(1), at(shown(r))))
        words = f"{r.name}, {r.threads} threads: {in_short(r)}"
        parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 1):.1f}" height="{height:.1f}" '
                     f'fill="{colour(r)}" opacity="{shade}"><title>{escape(words)}</title></rect>')
    last = rows[-1]
    parts.append(text(LEFT + WIDTH + 8, y + ROW / 2 + 2, in_short(last), "s"))
    if wanted_ratio(last) != 1.0:
        parts.append(line(at(wanted_ratio(last)), y + 2, at(wanted_ratio(last)), y + ROW - 4, INK, 1.5))
    return parts


class Axes:
    """Logarithmic axes: operations a byte to the right, operations a second upwards."""

    left, top, right, bottom = 80, 60, 660, 440

    def __init__(self, dots, peaks):
        intensities = [r.flops / r.bytes for r in dots]
        speeds = [r.flops / r.seconds["ingot"] for r in dots]
        self.low, self.high = math.log10(min(intensities)) - 0.2, math.log10(max([*intensities, 10.0])) + 0.2
        self.most = math.log10(max(peaks["flops"], *speeds)) + 0.3
        self.least = math.log10(min(speeds)) - 0.3

    def x(self, intensity) -> float:
        return self.left + (self.right - self.left) * (math.log10(intensity) - self.low) / (self.high - self.low)

    def y(self, speed) -> float:
        return self.top + (self.bottom - self.top) * (self.most - math.log10(speed)) / (self.most - self.least)

    def grid(self) -> list[str]:
        """Lines and numbers at powers of ten."""
        parts = [text((self.left + self.right) / 2, self.bottom + 40, "floating point operations a byte", "s m")]
        for power in range(math.ceil(self.low), math.floor(self.high) + 1):
            x = self.x(10.0**power)
            parts += [line(x, self.top, x, self.bottom), text(x, self.bottom + 18, f"{10.0**power:g}", "s m")]
        for power in range(math.ceil(self.least), math.floor(self.most) + 1):
            y = self.y(10.0**power)
            parts += [line(self.left, y, self.right, y), text(self.left - 6, y + 4, f"{10.0**(power - 9):g} GF/s", "s e")]
        return parts

    def roof(self, peaks) -> list[str]:
        """Memory's slope and arithmetic's ceiling."""
        knee = peaks["flops"] / peaks["bytes"]
        start = max(10.0**self.low, 10**self.least / peaks["bytes"])
        ceiling = self.y(peaks["flops"])
        slope = [line(self.x(start), self.y(start * peaks["bytes"]), self.x(knee), ceiling, INK, 2)] if start < knee else []
        return [*slope, line(self.x(max(knee, start)), ceiling, self.right, ceiling, INK, 2)]


def roofline_picture(results: list[Result], title: str) -> str:
    """Arithmetic and memory traffic of workloads under what the machine can do, for the most threads measured."""
    threads = max((r.threads for r in results), default=1)
    dots = [r for r in results if r.threads == threads and r.flops and r.bytes and r.peaks and "ingot" in r.seconds]
    if not dots:
        return page(600, 60, [text(20, 35, "No workload of known flops and bytes was measured.")])
    peaks = dots[0].peaks
    axes = Axes(dots, peaks)
    limits = f"{peaks['flops'] / 1e9:.0f} GFLOP/s, {peaks['bytes'] / 1e9:.0f} GB/s"
    parts = [text(20, 26, "Roofline: ingot under what this machine reaches", "h"),
             text(20, 44, f"{title}; {on_threads(threads)}; {limits}", "s"), *axes.grid(), *axes.roof(peaks)]
    for i, r in enumerate(dots, 1):
        x, y = axes.x(r.flops / r.bytes), axes.y(r.flops / r.seconds["ingot"])
        words = f"{r.name}: {r.share:.0%}"
        color = GOOD if r.share >= 0.85 else FAIR
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{color}" opacity="0.85">'
                     f"<title>{escape(words)}</title></circle>")
        parts.append(f'<text x="{x:.1f}" y="{y + 3:.1f}" class="m" style="font-size:8px;fill:white">{i}</text>')
        parts.append(text(axes.right + 30, axes.top + 16 * i - 8, f"{i}  {words}", "s"))
    longest = max(len(r.name) for r in dots)
    return page(axes.right + 90 + 6.5 * longest, max(axes.bottom + 60, axes.top + 16 * len(dots) + 20), parts)
