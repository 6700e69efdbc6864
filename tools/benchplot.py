# SPDX-License-Identifier: BSD-2-Clause
"""The SVG of tools/bench: curves over the length of messages, both axes
logarithmic. src/plot has only linear axes, from 0.
"""
import html
import math

WIDTH, HEIGHT = 860, 520
LEFT, TOP, RIGHT, BOTTOM = 70, 60, 620, 460
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
           "#000000", "#7f7f7f"]
# Width and dashes by group: Cay is to be seen before the peers.
STYLES = {"cay": (2.4, ""), "peer": (1.4, "6 3")}
OTHER_STYLE = (1.4, "1.5 3")


def text(x, y, words, anchor="start", size=12, turned=False):
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}"{turn}>{html.escape(words)}</text>')


def line(x1, y1, x2, y2, colour, style=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}"{style}/>')


def plot(title, x_label, y_label, series, x_text):
    """series: (label, [(x, low, y, high)], group); all numbers above 0. Curves
    of one style have different colours.
    """
    points = [point for _, curve, _ in series for point in curve]
    if not points:
        points = [(1, 1, 1, 1)]
    first, last = (math.log2(end(p[0] for p in points)) for end in (min, max))
    low = math.floor(math.log10(min(p[1] for p in points)))
    high = math.ceil(math.log10(max(p[3] for p in points)))
    high = max(high, low + 1)
    last = max(last, first + 1)

    def across(x):
        return LEFT + (RIGHT - LEFT) * (math.log2(x) - first) / (last - first)

    def up(y):
        return BOTTOM - (BOTTOM - TOP) * (math.log10(y) - low) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif">',
           f"<title>{html.escape(title)}</title>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           text(LEFT, 30, title, size=16),
           text((LEFT + RIGHT) / 2, HEIGHT - 12, x_label, "middle", 13),
           text(20, (TOP + BOTTOM) / 2, y_label, "middle", 13, True)]
    for power in range(math.ceil(first), math.floor(last) + 1, 2):
        x = across(2 ** power)
        out += [line(x, TOP, x, BOTTOM, "#e4e4e4"),
                text(x, BOTTOM + 18, x_text(2 ** power), "middle", 11)]
    for value in (m * 10.0 ** p for p in range(low, high) for m in (1, 2, 5)):
        y = up(value)
        out += [line(LEFT, y, RIGHT, y, "#999999" if value == 1 else "#e4e4e4"),
                text(LEFT - 8, y + 4, f"{value:g}", "end", 11)]
    drawn = {}
    for i, (label, curve, group) in enumerate(series):
        width, dashes = STYLES.get(group, OTHER_STYLE)
        number = drawn[dashes] = drawn.get(dashes, -1) + 1
        colour = COLOURS[number % len(COLOURS)]
        style = f' stroke-width="{width}"' \
            + f' stroke-dasharray="{dashes}"' * bool(dashes)
        path = " ".join(f"{across(x):.1f},{up(y):.1f}"
                        for x, _, y, _ in curve)
        out.append(f'<polyline points="{path}" fill="none" '
                   f'stroke="{colour}"{style}/>')
        for x, least, y, most in curve:
            out += [line(across(x), up(least), across(x), up(most), colour),
                    f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.5" '
                    f'fill="{colour}"><title>{html.escape(label)}, '
                    f'{x_text(x)}: {y:.3g}</title></circle>']
        y = TOP + 10 + 20 * i
        out += [line(RIGHT + 15, y, RIGHT + 37, y, colour, style),
                text(RIGHT + 43, y + 4, label)]
    return "\n".join([*out, "</svg>", ""])
