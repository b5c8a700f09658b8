"""A bar chart as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

BAR, GAP, LEFT, WIDTH, TOP = 14, 22, 130, 460, 24
COLOURS = ("#3b5bdb", "#c2410c", "#a16207", "#15803d", "#7e22ce", "#94a3b8", "#cbd5e1")
STYLE = "text { font: 12px system-ui, sans-serif; fill: #1f2937 } .group { font-weight: 600 }"


def bars(figures: Mapping[str, Mapping[str, float]]) -> str:
    """A group of bars for each measurement, a bar for each of those that were measured.

    Args:
        figures: the figures of each measurement, by name; 0 leaves a bar out.
    """
    longest = max(value for each in figures.values() for value in each.values())
    parts, y = [], TOP
    for what in next(iter(figures.values())):
        parts.append(f'<text class="group" x="8" y="{y}">{escape(what)}</text>')
        y += 8
        for (name, each), colour in zip(figures.items(), COLOURS, strict=False):
            if each[what]:
                width = max(1, round(each[what] / longest * WIDTH))
                middle = y + BAR - 3
                parts += [
                    f'<text x="{LEFT - 6}" y="{middle}" text-anchor="end">{escape(name)}</text>',
                    f'<rect x="{LEFT}" y="{y}" width="{width}" height="{BAR - 2}" fill="{colour}"/>',
                    f'<text x="{LEFT + width + 5}" y="{middle}">{each[what]:.2f}</text>',
                ]
                y += BAR + 2
        y += GAP
    size = f'viewBox="0 0 {LEFT + WIDTH + 50} {y - GAP + 8}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Rates as multiples of this mock\'s">\n'
        f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
