"""Drawings by code: icon, social card, wafer, die of a chapter, floor plan of a chip, symbols of blocks and theme.

    python book/_ext/drawings.py     writes book/_web/icon.svg, card.png (with Chromium) and css/symbols.css

What stands inside a page takes its colours from tokens.css, so that one drawing serves light and dark. The icon
and the card travel alone and carry their own.
"""

from __future__ import annotations

import os
import random
import shutil
from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

INK, COPPER_LIT, SILICON = "#15181d", "#ec9a62", "#8b94a1"


def tag(name: str, body: str = "", **attributes: object) -> str:
    """One element. Underscores become hyphens, a trailing one is dropped (``class_``), None leaves one out."""
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{value}"' for key, value in attributes.items() if value is not None
    )
    return f"<{name}{text}>{body}</{name}>" if body else f"<{name}{text}/>"


def svg(box: tuple[float, ...], body: str, **attributes: object) -> str:
    """An SVG whose view box is (width, height) from the origin, or (x, y, width, height)."""
    x, y, width, height = box if len(box) == 4 else (0, 0, *box)
    return tag("svg", body, xmlns="http://www.w3.org/2000/svg", viewBox=f"{x} {y} {width} {height}", **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    """A rectangle, its numbers cut to hundredths."""
    numbers = {"x": x, "y": y, "width": width, "height": height}
    return tag("rect", **{key: f"{value:.2f}".rstrip("0").rstrip(".") for key, value in numbers.items()}, **attributes)


# --- Icon: a wafer with its notch, twelve dies, one of them lit ------------------------------------------------


def icon() -> str:
    """The book's mark, 64 x 64."""
    style = (
        f".w{{fill:{INK}}}.d{{fill:{SILICON}}}.l{{fill:{COPPER_LIT}}}"
        "@media(prefers-color-scheme:dark){.w{fill:#2b313a}.d{fill:#a9b1bd}}"
    )
    dies = "".join(
        rect(32.75 + 11.5 * (c - n / 2), 9.75 + 11.5 * r, 10, 10, class_="l" if (r, c) == (1, 2) else "d")
        for r, n in enumerate((2, 4, 4, 2))
        for c in range(n)
    )
    wafer_path = tag("path", d="M28.5 61.8A30 30 0 1 1 35.5 61.8L32 57.5Z", class_="w")
    return svg((64, 64), tag("style", style) + wafer_path + dies, role="img", aria_label="Silicon to Token")


# --- Wafer: to scale, 24 squares of 814 mm2 on a 200 mm wafer ---------------------------------------------------

DIE_AREA_MM2 = 814  # of an H100
SIDE = DIE_AREA_MM2**0.5  # mm
RADIUS, EDGE = 100, 3  # mm; EDGE is the ring where no die is printed
ROWS = (2, 4, 6, 6, 4, 2)  # whole dies of a grid with a crossing at the centre


class Die(NamedTuple):
    """One page of the book on the wafer. A page without `href` is planned, and not a link.

    `questions` are the ids of what the page asks, with spaces between: the die fills as a reader answers them.
    """

    label: str
    title: str
    href: str | None = None
    questions: str = ""


def sites() -> list[tuple[float, float]]:
    """Upper left corners of the whole dies, in mm from the centre, in order of reading."""
    return [((c - n / 2) * SIDE, (r - len(ROWS) / 2) * SIDE) for r, n in enumerate(ROWS) for c in range(n)]


def floorplan(
    rng: random.Random, x: float, y: float, w: float, h: float, depth: int = 4
) -> list[tuple[float, float, float, float]]:
    """Split a rectangle at random; what is left are the blocks of one die, as (x, y, width, height)."""
    if depth == 0 or min(w, h) < 5:
        return [(x, y, w, h)]
    cut = rng.uniform(0.3, 0.7)
    if w > h * rng.uniform(0.7, 1.4):
        return floorplan(rng, x, y, w * cut, h, depth - 1) + floorplan(rng, x + w * cut, y, w * (1 - cut), h, depth - 1)
    return floorplan(rng, x, y, w, h * cut, depth - 1) + floorplan(rng, x, y + h * cut, w, h * (1 - cut), depth - 1)


def blocks(index: int, x: float, y: float, **attributes: object) -> str:
    """The floor plan of die `index`, inside its site at (x, y): the same on the wafer and at the chapter's head."""
    inner = SIDE - 3.4
    return "".join(
        rect(bx + 0.6, by + 0.6, bw - 1.2, bh - 1.2, **attributes)
        for bx, by, bw, bh in floorplan(random.Random(index + 11), x + 1.7, y + 1.7, inner, inner)
    )


def _site(index: int, x: float, y: float, label: str) -> str:
    """Die `index` at (x, y): its ground, how full it is (the style sheet and the page tell), floor plan and label."""
    inner = SIDE - 1.4
    return (
        rect(x + 0.7, y + 0.7, inner, inner, class_="site")
        + rect(x + 0.7, y + 0.7, inner, inner, class_="filled")
        + tag("g", blocks(index, x, y), class_="blocks")
        + tag("text", escape(label), x=f"{x + SIDE / 2:.2f}", y=f"{y + SIDE / 2 + 4:.2f}", text_anchor="middle")
    )


WAFER_OUTLINE = "M-7 99.75A100 100 0 1 1 7 99.75L0 92.5Z"


def wafer(dies: Iterable[Die], label: str) -> str:
    """The contents as a wafer, one die a page in order of reading; `label` names the drawing to a screen reader.

    Raises
    ------
    ValueError
        If there are not as many pages as sites.

    Examples
    --------
    >>> wafer([Die(str(i), "A chapter") for i in range(24)], "Contents").count('class="die planned"')
    24
    >>> wafer([Die("1", "MatMul")], "Contents")
    Traceback (most recent call last):
    ValueError: the wafer has 24 sites, the book has 1 pages
    """
    dies = list(dies)
    if len(dies) != sum(ROWS):
        raise ValueError(f"the wafer has {sum(ROWS)} sites, the book has {len(dies)} pages")
    whole = {(round(x / SIDE), round(y / SIDE)) for x, y in sites()}
    partial = "".join(
        rect(c * SIDE, r * SIDE, SIDE, SIDE) for r in range(-4, 4) for c in range(-4, 4) if (c, r) not in whole
    )
    body = tag("clipPath", tag("circle", r=RADIUS - EDGE), id="wafer-edge")
    body += tag("path", d=WAFER_OUTLINE, class_="wafer-disc")
    body += tag("g", partial, class_="wafer-partial", clip_path="url(#wafer-edge)")
    for i, (die, (x, y)) in enumerate(zip(dies, sites(), strict=True)):
        name = escape(f"{die.label} {die.title}")
        picture = _site(i, x, y, die.label) + tag("text", name, y=115, class_="name", text_anchor="middle")
        if die.href is not None:
            link = {"href": escape(die.href), "data_label": escape(die.label), "aria_label": name}
            body += tag("a", picture, class_="die", data_questions=escape(die.questions), **link)
        else:  # shown, but neither a link nor a stop for the keyboard; the list below the wafer says "planned"
            body += tag("g", picture, class_="die planned", aria_hidden="true")
    return svg((-104, -104, 208, 224), body, class_="wafer", role="group", aria_label=escape(label))


def chapter_die(index: int, label: str, *, questions: str = "", outline: bool = False) -> str:
    """The die of one page as it stands on the wafer; in `outline` alone for its lab, where the reader fills it."""
    know = {"data_label": escape(label), "data_questions": escape(questions)}
    kind = "chapter-die outline" if outline else "chapter-die"
    return svg((round(SIDE, 2), round(SIDE, 2)), _site(index, 0, 0, label), class_=kind, aria_hidden="true", **know)


# --- Floor plan of a chip: how much of it is busy ---------------------------------------------------------------


def die(busy: float, cores: int, sms: int, places: int, *, label: str) -> str:
    """One square a tensor core, grouped by multiprocessor; `busy` of them (a fraction counts) are lit.

    Parameters
    ----------
    busy : float
        How many tensor cores have work, 0 to `cores`.
    cores, sms, places : int
        Tensor cores and multiprocessors switched on, and multiprocessors printed on the silicon.
    label : str
        What is to be seen, for those who do not see it.

    Raises
    ------
    ValueError
        If the counts do not describe a chip: `cores` no multiple of `sms`, more than four a multiprocessor, fewer
        `places` than `sms`, or `busy` out of range.

    Examples
    --------
    >>> picture = die(1.8, 528, 132, 144, label="Fewer than two of 528 squares are lit.")
    >>> picture.count('class="core"'), picture.count('class="lit"'), picture.count('class="dark"')
    (528, 2, 12)
    """
    if cores % sms or not 1 <= cores // sms <= 4:
        raise ValueError(f"{cores} tensor cores on {sms} multiprocessors: give one to four whole ones each")
    if places < sms:
        raise ValueError(f"{sms} multiprocessors do not fit {places} places")
    if not 0 <= busy <= cores:
        raise ValueError(f"{busy} of {cores} tensor cores busy: give a number from 0 to {cores}")
    per_sm, cols, left, top, pitch, strip = cores // sms, 12, 44, 14, 26, 34
    rows = -(-places // cols)
    half = -(-rows // 2)
    height = top + rows * pitch + strip + 6 + 14
    off = set(random.Random(4).sample(range(places), places - sms))  # dark for yield; which ones differs by chip
    body = rect(1, 1, 398, height - 2, class_="edge")
    for x in (7, 369):  # the memory buses
        body += rect(x, top, 24, height - 28, class_="bus")
        body += "".join(rect(x, top + (height - 28) * k / 8 - 1, 24, 2, class_="gap") for k in range(1, 8))
    on = [place for place in range(places) if place not in off]
    start = min(29, len(on) - 1)  # the lit squares lie near the right edge, so that a trace can lead out

    def corner(place: int) -> tuple[float, float]:
        r, c = divmod(place, cols)
        return left + c * pitch, top + r * pitch + (strip + 6 if r >= half else 0)

    for order, place in enumerate(on[start:] + on[:start]):
        x, y = corner(place)
        for k in range(per_sm):
            cx, cy = x + 1 + 11.5 * (k % 2), y + 1 + 11.5 * (k // 2)
            body += rect(cx, cy, 10.5, 10.5, class_="core")
            part = min(1.0, max(0.0, busy - order * per_sm - k))
            if part > 0:
                body += rect(cx, cy + 10.5 * (1 - part), 10.5, 10.5 * part, class_="lit")
    for place in sorted(off):
        x, y = corner(place)
        body += tag("path", d=f"M{x + 1} {y + 1}h22v22h-22zM{x + 1} {y + 23}l22-22", class_="dark")
    if 0 < busy <= 2 * per_sm:  # a trace leads from the few that work to the number beside the drawing
        x, y = corner(on[start])
        cx, cy = x + 12.5, y + 7
        body += tag("path", d=f"M{cx + 17} {cy}h{372 - cx - 17 - 20}l20 -20h62", class_="trace")
        body += tag("circle", cx=cx, cy=cy, r=17, class_="trace")
    y = top + half * pitch + 2
    body += rect(left + 1, y, cols * pitch - 4, strip, class_="l2")
    body += tag("text", "L2 cache", x=200, y=y + 22, text_anchor="middle")
    return svg((400, height), body, class_="die-plan", role="img", aria_label=escape(label))


# --- A product to scale: where its bytes lie ----------------------------------------------------------------------


def product(rows: Iterable[int], width: int, facts: Iterable[Iterable[str]], *, label: str) -> str:
    """The arrays of X W = Y, areas to scale, once for each count of rows: X above W, Y below it.

    Parameters
    ----------
    rows : iterable of int
        Three counts of rows, each at most `width`.
    width : int
        Side of the square W.
    facts : iterable of iterables of str
        Lines of text under each picture.
    label : str
        What is to be seen, for those who do not see it.

    Raises
    ------
    ValueError
        If there are not three counts, or one of them is not from 1 to `width`.

    Examples
    --------
    >>> picture = product([1, 32, 1024], 8192, [["134 MB"], ["135 MB"], ["168 MB"]], label="W holds nearly all bytes.")
    >>> picture.count('class="array-w"'), "168 MB" in picture
    (3, True)
    >>> product([1, 9000, 2], 8192, [], label="")
    Traceback (most recent call last):
    ValueError: rows are 1, 9000, 2; give three counts from 1 to 8192
    """
    rows = list(rows)
    if len(rows) != 3 or not all(1 <= m <= width for m in rows):
        raise ValueError(f"rows are {', '.join(map(str, rows))}; give three counts from 1 to {width}")
    side, pitch, strip = 104, 140, 104 * max(rows) / width
    top = 28 + strip + 5  # of W, in every picture
    body = ""
    for i, (m, lines) in enumerate(zip(rows, facts, strict=True)):
        x, height = 15 + i * pitch, max(0.8, side * m / width)  # no strip is thinner than a line can be
        body += tag("text", f"<tspan>m</tspan> = {m:,}", x=x, y=14, class_="head")
        for name, y, h in (("x", top - 5 - height, height), ("w", top, side), ("y", top + side + 5, height)):
            body += rect(x, y, side, h, class_=f"array-{name}")
        for name, y in (("X", top - 5), ("W", top + side / 2 + 5), ("Y", top + side + 14)):
            body += tag("text", name, x=x - 15, y=f"{y:.1f}", class_="name")
        for j, line in enumerate(lines):
            body += tag("text", escape(line), x=x, y=f"{top + side + strip + 26 + 18 * j:.1f}")
    return svg((400, round(top + side + strip + 52)), body, class_="product", role="img", aria_label=escape(label))


# --- Symbols: each block of a chapter is a symbol of a circuit diagram ------------------------------------------

SYMBOLS = {
    # an open switch
    "guess": '<circle cx="7" cy="16" r="2"/><circle cx="17" cy="16" r="2"/><path d="M1 16h4M19 16h4M8.4 14.6 16 7"/>',
    # a potentiometer
    "move": '<path d="M1 16h3l1.7-4 2.9 8 2.9-8 2.9 8 2.9-8 1.7 4h4M12 2v6.8M9.3 6.2 12 8.9 14.7 6.2"/>',
    # a gate
    "work": '<path d="M6 5h6a7 7 0 0 1 0 14H6zM1 9h5M1 15h5M19 12h4"/>',
    # a meter
    "measure": '<circle cx="12" cy="12" r="8"/><path d="M1 12h3M20 12h3M8 16l7.5-7.5M11 8h4.5v4.5"/>',
    # a comparator
    "trial": '<path d="M5 2.5v19L20 12zM1 8h4M1 16h4M20 12h3M7.5 9h4M9.5 7v4M7.5 15h4"/>',
    # a broken trace
    "breaks": '<path d="M1 12h6.5M16.5 12H23M13.5 4l-4 7.5h5L10.5 20"/>',
    # a flip-flop, which holds a bit
    "keep": '<path d="M5 3h14v18H5zM1 8h4M1 16h4M19 8h4M5 13l4.5 3L5 19"/>',
}

MARKS = {  # verdicts: five silhouettes, readable without colour
    "confirmed": '<circle cx="8" cy="8" r="6.5"/><path d="M5 8.2l2.2 2.3L11.2 6"/>',
    "corrected": '<path d="M8 1.8 14.8 14H1.2zM8 6v3.8M8 11.3v.9"/>',
    "disputed": '<path d="M2 2h12v12H2z"/><path d="M2 14 14 2v12z" fill="#000"/>',
    "definition": '<path d="M4.5 2h7L15 8l-3.5 6h-7L1 8zM5.5 6.5h5M5.5 9.5h5"/>',
    "unchecked": '<circle cx="8" cy="8" r="6.5" stroke-dasharray="2.6 2.5"/>',
}

PAGE = '<path d="M6 2.5h8l4.5 4.5v14.5H6zM13.5 2.5V7.5h5"/>'
ICONS = {  # the theme's own icons, by its names for them
    "bars": '<path d="M3.5 6h17M3.5 12h17M3.5 18h17"/>',
    "list": '<path d="M8.5 6h12M8.5 12h12M8.5 18h12M3.5 6h.6M3.5 12h.6M3.5 18h.6"/>',
    "magnifying-glass": '<circle cx="10.5" cy="10.5" r="6.5"/><path d="m15.5 15.5 5.5 5.5"/>',
    "sun": '<circle cx="12" cy="12" r="4"/><path d="M12 2.5v3M12 18.5v3M2.5 12h3M18.5 12h3M5.3 5.3l2.1 2.1'
    'M16.6 16.6l2.1 2.1M5.3 18.7l2.1-2.1M16.6 7.4l2.1-2.1"/>',
    "moon": '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"/>',
    "circle-half-stroke": '<circle cx="12" cy="12" r="8.5"/><path d="M12 3.5a8.5 8.5 0 0 1 0 17z" fill="#000"/>',
    "download": '<path d="M12 3v12M7 10.5l5 5 5-5M4 20.5h16"/>',
    "expand": '<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"/>',
    "code": '<path d="m8 7-5 5 5 5M16 7l5 5-5 5"/>',
    "file": PAGE,
    "file-lines": PAGE + '<path d="M9 12h6.5M9 16h6.5"/>',
    "file-pdf": PAGE + '<path d="M9 12h6.5M9 16h6.5"/>',
    "angle-left": '<path d="m15 5-7 7 7 7"/>',
    "angle-right": '<path d="m9 5 7 7-7 7"/>',
    "chevron-down": '<path d="m5 9 7 7 7-7"/>',
    "arrow-up": '<path d="M12 20.5V4M5.5 10.5 12 4l6.5 6.5"/>',
    "rocket": '<path d="M5.5 3.5v17l14-8.5z"/>',
    "github": '<circle cx="6.5" cy="5" r="2.5"/><circle cx="6.5" cy="19" r="2.5"/><circle cx="17.5" cy="8" r="2.5"/>'
    '<path d="M6.5 7.5v9M17.5 10.5c0 4-11 2-11 6"/>',  # a branch: no trademark is drawn
    "lightbulb": '<path d="M9 17.5a6.5 6.5 0 1 1 6 0zM9.5 21h5"/>',
    "pencil": '<path d="m4 20 1-4.5L16.5 4l3.5 3.5L8.5 19z"/>',
}


def _uri(body: str, size: int, width: float) -> str:
    """A CSS url() that holds a line drawing; used as a mask, so that its colour is the page's."""
    pen = {"fill": "none", "stroke": "#000", "stroke_width": width}
    text = svg((size, size), tag("g", body, **pen, stroke_linejoin="round", stroke_linecap="round"))
    return f'url("data:image/svg+xml,{quote(text.replace(chr(34), chr(39)), safe=" =:/,()" + chr(39))}")'


def symbols() -> str:
    """The style sheet symbols.css: blocks, verdicts and the theme's icons as custom properties and masks."""
    lines = [f"  --symbol-{key}: {_uri(body, 24, 1.7)};" for key, body in SYMBOLS.items()]
    lines += [f"  --mark-{key}: {_uri(body, 16, 1.6)};" for key, body in MARKS.items()]
    rules = [f".fa-{key} {{ --icon: {_uri(body, 24, 2)}; }}" for key, body in ICONS.items()]
    head = "/* Written by book/_ext/drawings.py: symbols of the blocks, marks of the verdicts, icons of the theme. */"
    return "\n".join([head, ":root {", *lines, "}", *rules]) + "\n"


# --- Social card, 1200 x 630; it carries its own letters, and sites want it as PNG ------------------------------


def card(faces: Mapping[int, Path]) -> str:
    """The picture that a link to the book shows. `faces` gives a woff2 file for weights 500 and 600."""
    style = "".join(
        f"@font-face{{font-family:Sign;font-weight:{weight};"
        f"src:url(data:font/woff2;base64,{b64encode(path.read_bytes()).decode()})}}"
        for weight, path in faces.items()
    )
    body = tag("style", style + 'text{font-family:Sign,"Arial Narrow",sans-serif}')
    body += rect(0, 0, 1200, 630, fill="#12151a")
    dies = tag("path", d=WAFER_OUTLINE, fill="#1f242c", stroke="#566070", stroke_width=0.5)
    lit = 12
    for i, (x, y) in enumerate(sites()):
        dies += rect(x + 0.7, y + 0.7, SIDE - 1.4, SIDE - 1.4, fill=COPPER_LIT if i == lit else "#2b313a")
        dies += blocks(i, x, y, fill="none", stroke="#12151a" if i == lit else "#566070", stroke_width=0.45)
    body += tag("g", dies, transform="translate(905 315) scale(3.3)")
    x, y = (centre + 3.3 * at for centre, at in zip((905, 315), (sites()[lit][0], SIDE / 2), strict=True))
    trace = f"M72 430H{x - 16 - (430 - y):.0f}L{x - 16:.0f} {y:.0f}H{x:.0f}"  # from the title to the lit die
    body += tag("path", d=trace, fill="none", stroke=COPPER_LIT, stroke_width=5)
    for line, at, size, weight, fill in (
        ("Silicon", 260, 136, 600, "#e6e9ee"),
        ("to Token", 380, 136, 600, "#e6e9ee"),
        ("The hardware behind AI inference:", 494, 36, 500, "#a9b1bd"),
        ("guess it, move it, put it on trial", 540, 36, 500, "#a9b1bd"),
    ):
        body += tag("text", line, x=68, y=at, font_size=size, font_weight=weight, fill=fill)
    return svg((1200, 630), body, role="img", aria_label="Silicon to Token: the hardware behind AI inference")


def photograph(picture: str, width: int, height: int) -> bytes:
    """An SVG as PNG. Needs Playwright and a Chromium, the one that CHROMIUM names or the first on the path."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_content(
            f"<style>body{{margin:0}}svg{{display:block;width:{width}px;height:{height}px}}</style>{picture}"
        )
        page.evaluate("document.fonts.ready")
        png = page.screenshot()
        browser.close()
    return png


def main() -> None:
    """Write the files that the web package holds."""
    web = Path(__file__).resolve().parents[1] / "_web"
    fonts = web / "node_modules/@fontsource/barlow-semi-condensed/files"
    faces = {weight: fonts / f"barlow-semi-condensed-latin-{weight}-normal.woff2" for weight in (500, 600)}
    (web / "icon.svg").write_text(icon() + "\n")
    (web / "css/symbols.css").write_text(symbols())
    (web / "card.png").write_bytes(photograph(card(faces), 1200, 630))


if __name__ == "__main__":
    main()
