"""Plots as SVG: those of the page of results, and curves in panels."""

from html import escape
from math import ceil, floor, log10

ROW = 18
# Room for the names of rows, for the bars, and for what stands behind them.
NAMES, BARS, BEHIND = 420, 360, 80


def bars(title, rows):
    """Horizontal bars; rows are name, value and the goal or None, which is a mark across its bar."""
    most = max(max(value, goal or 0) for _, value, goal in rows)
    width, height = NAMES + BARS + BEHIND, (len(rows) + 3) * ROW
    x = lambda value: NAMES + BARS * value / most
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="{width / 2:.0f}" y="{ROW}" font-size="14" text-anchor="middle">{escape(title)}</text>']
    for at, (name, value, goal) in enumerate(rows):
        top = (at + 1.5) * ROW
        colour = "#1560bd" if goal is None or value >= goal else "#b22222"
        made.append(f'<text x="{NAMES - 6}" y="{top + ROW - 6:.0f}" text-anchor="end">{escape(name)}</text>')
        made.append(f'<rect x="{NAMES}" y="{top + 3:.0f}" width="{x(value) - NAMES:.1f}" height="{ROW - 6}" fill="{colour}"/>')
        made.append(f'<text x="{x(value) + 4:.0f}" y="{top + ROW - 6:.0f}">{value:.2f}</text>')
        if goal is not None:
            made.append(f'<path d="M{x(goal):.1f},{top + 1:.0f}v{ROW - 2}" stroke="black" stroke-width="2"/>')
    made.append(f'<text x="{width / 2:.0f}" y="{height - 6}" text-anchor="middle" fill="#555">black marks are goals; red bars miss them</text>')
    return "\n".join(made + ["</svg>", ""])


COLOURS = ["#1560bd", "#b22222", "#2e8b57", "#8b5a2b", "#6a3d9a"]
# A panel with its axes, and where its plot lies in it.
PANEL, HEIGHT, LEFT, TOP, PLOT, TALL = 400, 280, 50, 34, 330, 190


def ticks(most):
    """Some five round numbers from 0 on, the last of them at least the most."""
    power = 10 ** floor(log10(most / 4))
    step = next(step for step in (1, 2, 2.5, 5, 10) if 4 * step * power >= most) * power
    return [number * step for number in range(ceil(most / step) + 1)]


def panels(parts, across, up):
    """Curves, two panels a row. Parts are name and curves, which are name and points; all have the same axes, from 0."""
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
