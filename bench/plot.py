"""Plots as SVG: those of the page of results, and curves in panels."""

from html import escape
from math import ceil, floor, log10

ROW = 18
# Width of the bars, and of a letter: as wide as in any common sans-serif font, so that no label is cut off.
BARS, LETTER = 360, 7
FASTER, SLOWER = "#1560bd", "#b22222"


def ratio_ticks(low, high):
    """Round ratios from low to high: 1, 2 and 5 of each power of ten, or only the powers if there are many."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    steps = (1, 2, 5) if log10(high / low) < 2.5 else (1,)
    return [step * 10**power for power in powers for step in steps if low <= step * 10**power <= high]


def bars(title, groups):
    """Bars of ratios on a logarithmic scale, starting from a line at 1: to the right if the ratio is above it, to the left in red if not.

    A group is a heading and rows of name, ratio, peer, and goal or None; a goal is a thin mark across its bar."""
    rows = [row for _, group in groups for row in group]
    shown = [value for _, ratio, _, goal in rows for value in (ratio, goal) if value] + [1]
    low, high = min(shown) / 1.1, max(shown) * 1.1
    names = LETTER * max(len(name) for name, *_ in rows) + 12
    told = lambda ratio, peer: f"{ratio:,.{0 if ratio >= 100 else 2}f} x {peer}"
    behind = LETTER * max(len(told(ratio, peer)) for _, ratio, peer, _ in rows) + 12
    top, width = 2.5 * ROW, names + BARS + behind
    height = top + (len(rows) + len(groups) + 2.5) * ROW
    x = lambda value: names + BARS * log10(value / low) / log10(high / low)
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height:.0f}" fill="white"/>',
            f'<text x="{width / 2:.0f}" y="{ROW}" font-size="14" text-anchor="middle">{escape(title)}</text>']
    bottom = top + (len(rows) + len(groups)) * ROW + 4
    for tick in ratio_ticks(low, high):
        made.append(f'<path d="M{x(tick):.1f},{top:.0f}V{bottom:.0f}" stroke="#ddd"/>')
        made.append(f'<text x="{x(tick):.1f}" y="{bottom + 14:.0f}" text-anchor="middle">{tick:g}</text>')
    made.append(f'<path d="M{x(1):.1f},{top:.0f}V{bottom:.0f}" stroke="black" stroke-width="2"/>')
    at = top
    for heading, group in groups:
        made.append(f'<text x="6" y="{at + ROW - 5:.0f}" font-weight="bold" stroke="white" stroke-width="3" paint-order="stroke">{escape(heading)}</text>')
        at += ROW
        for name, ratio, peer, goal in group:
            left, right = sorted((x(1), x(ratio)))
            made.append(f'<text x="{names - 6}" y="{at + ROW - 5:.0f}" text-anchor="end">{escape(name)}</text>')
            made.append(f'<rect x="{left:.1f}" y="{at + 4:.0f}" width="{max(right - left, 1):.1f}" height="{ROW - 8}" '
                        f'fill="{FASTER if ratio >= 1 else SLOWER}"/>')
            made.append(f'<text x="{names + BARS + 6}" y="{at + ROW - 5:.0f}">{escape(told(ratio, peer))}</text>')
            if goal is not None:
                made.append(f'<path d="M{x(goal):.1f},{at + 1:.0f}v{ROW - 2}" stroke="black"/>')
            at += ROW
    made.append(f'<text x="{width / 2:.0f}" y="{height - 6:.0f}" text-anchor="middle" fill="#555">'
                "times the peer, logarithmic; the line is the peer, red is slower than it, thin marks are goals</text>")
    return "\n".join(made + ["</svg>", ""])


COLOURS = ["#1560bd", "#b22222", "#2e8b57", "#8b5a2b", "#6a3d9a"]
# A panel with its axes, and the position of its plot.
PANEL, HEIGHT, LEFT, TOP, PLOT, TALL = 400, 280, 50, 34, 330, 190


def ticks(most):
    """About five round numbers from 0 to at least `most`."""
    power = 10 ** floor(log10(most / 4))
    step = next(step for step in (1, 2, 2.5, 5, 10) if 4 * step * power >= most) * power
    return [number * step for number in range(ceil(most / step) + 1)]


def panels(parts, across, up):
    """Curves, two panels per row. Parts are (name, curves), curves are (name, points); all panels have the same axes, from 0."""
    right = max(x for _, curves in parts for _, points in curves for x, _ in points)
    width, height = 2 * PANEL, (len(parts) + 1) // 2 * HEIGHT
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="white"/>']
    for at, (name, curves) in enumerate(parts):
        up_ticks = ticks(max(y for _, points in curves for _, y in points) or 1)
        made.append(f'<g transform="translate({at % 2 * PANEL},{at // 2 * HEIGHT})">')
        made.append(f'<text x="{LEFT + PLOT / 2}" y="20" font-size="13" text-anchor="middle">{escape(name)}</text>')
        made.append(f'<path d="M{LEFT},{TOP}V{TOP + TALL}H{LEFT + PLOT}" fill="none" stroke="black"/>')
        x, y = (lambda value: LEFT + PLOT * value / right), (lambda value: TOP + TALL - TALL * value / up_ticks[-1])
        made += [f'<text x="{x(tick):.0f}" y="{TOP + TALL + 14}" text-anchor="middle">{tick:g}</text>' for tick in ticks(right) if tick <= right]
        made += [f'<text x="{LEFT - 5}" y="{y(tick) + 4:.0f}" text-anchor="end">{tick:,.10g}</text>' for tick in up_ticks]
        made.append(f'<text x="{LEFT + PLOT / 2}" y="{TOP + TALL + 30}" text-anchor="middle" fill="#555">{escape(across)}</text>')
        made.append(f'<text x="12" y="{TOP + TALL / 2}" text-anchor="middle" fill="#555" '
                    f'transform="rotate(-90 12 {TOP + TALL / 2})">{escape(up)}</text>')
        for number, (curve, points) in enumerate(curves):
            line = " ".join(f"{x(across):.1f},{y(up):.1f}" for across, up in points)
            dashes = f' stroke-dasharray="{4 + 3 * number} {3 * (number > 0)}"' if number else ""
            made.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"{dashes}/>')
            made.append(f'<text x="{LEFT + 10}" y="{TOP + 12 + 14 * number}" fill="{COLOURS[number]}">{escape(curve)}</text>')
        made.append("</g>")
    return "\n".join(made + ["</svg>", ""])
