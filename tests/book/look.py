"""The look of the book as a few small pictures: taken from a specimen, and held against those kept beside it.

`make look` takes them anew, after a change that was meant. The specimen is a book of four pages with fixed words, built
by the book's own configuration and extensions. Of each page every block is cut out of a screenshot and reduced to one
point for 8 x 8 pixels, so that letters become grey and only what a reader sees at arm's length is left. Three things
are compared:

- the size of each block and its distance from the one before, to a few pixels;
- the reduced picture, wherever it falls by one pixel;
- the plain colours, to one part in a hundred: their share of a block tells of a border that is gone.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import nbformat
import yaml
from PIL import Image, ImageChops

from tests.book.project import ROOT

KEPT = Path(__file__).parent / "specimen"
OUT = ROOT / "_build/look"
POINT = 8  # pixels of the page, in each direction, for one of the reduced picture
MARGIN = 12  # around a block: its pins stand out
PAGES = ("book/index", "book/02-matmul", "notebooks/02-matmul", "book/glossary")
VIEWS = {
    "375-light": (375, "light", {}),
    "375-dark": (375, "dark", {}),
    "1280-light": (1280, "light", {}),
    "1280-dark": (1280, "dark", {}),
    "1280-forced": (1280, "dark", {"forced_colors": "active"}),
    "700-print": (700, "light", {"media": "print"}),
}

# What may differ without a reader seeing it
PIXELS = 3  # size and distance of a block
SHIFTS = sorted(((dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)), key=lambda shift: sum(map(abs, shift)))
LEVELS = 22  # one point of the reduced picture, of 255
POINTS = 0.004  # share of the points of a block that may differ by more
LOUD = 3  # points that may not differ by twice as much: a letter moved, a thumb elsewhere
LINE = 7  # a row or a column of points, on average
SHADE = 3  # one channel of a plain colour
SHARE = 0.004  # a plain colour counts from this share of a block on


class Piece(NamedTuple):
    """A block of a page: its picture, and how far below the one before it begins."""

    picture: Image.Image
    gap: int


class Reduced(NamedTuple):
    """What is kept of a piece."""

    size: tuple[int, int]
    gap: int
    colours: dict[str, float]
    points: Image.Image


# ---- The specimen ----------------------------------------------------------------------------------------------------


def build(folder: Path) -> Path:
    """Build the specimen in an empty folder; returns where its pages are.

    Raises
    ------
    RuntimeError
        If the build fails or warns, with what it said.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    here = ROOT.as_posix()
    config["execute"] = {"execute_notebooks": "off"}
    config["logo"] = config["html"]["favicon"] = f"{here}/book/_web/icon.svg"
    config["bibtex_bibfiles"] = [f"{here}/book/references.bib"]
    config["sphinx"]["local_extensions"] = {"offline": f"{here}/book/_ext"}
    config["sphinx"]["config"]["templates_path"] = [f"{here}/book/_web/templates"]
    contents = {"format": "jb-book", "root": PAGES[0], "parts": [
        {"caption": "I The operation", "chapters": [{"file": PAGES[1], "sections": [{"file": PAGES[2]}]}]},
        {"caption": "Back matter", "chapters": [{"file": PAGES[3]}]},
    ]}  # fmt: skip
    for name, value in (("_config.yml", config), ("_toc.yml", contents)):
        (folder / name).write_text(yaml.safe_dump(value))
    live = _live()
    for path in KEPT.rglob("*.md"):
        text = path.read_text("utf8")
        for name, html in live.items():
            text = text.replace(name, f"```````{{raw}} html\n{html}\n```````")
        target = folder / path.relative_to(KEPT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf8")
    (folder / "notebooks").mkdir()
    nbformat.write(_lab(live["CHART"]), folder / f"{PAGES[2]}.ipynb")
    command = [
        str(Path(sys.executable).with_name("jupyter-book")),
        "build",
        str(folder),
        "-W",
        "-n",
        "--keep-going",
        "-q",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": here})
    if done.returncode:
        raise RuntimeError(f"the specimen did not build:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return folder / "_build/html"


def _live() -> dict[str, str]:
    """Fragments of live elements with data that no catalogue changes."""
    os.environ["HWLAB_STATIC"] = "1"
    from hwlab.figures import Axis, Choice, Result, blocked_product, explore, show
    from hwlab.figures.matmul import ladder
    from hwlab.formula import minimum, number, text

    def rate(load, make):
        return minimum(load, 40) * 2

    explorer = explore(
        rate,
        x=Axis("load", 1, 100, 10, scale="log", title="Load"),
        y=Result("Rate", "B/s"),
        sliders=[Choice("make", ["one", "other"], "one", title="Make")],
        says=lambda load, make: text("A load of {load}.", load=number(load, 3)),
        arithmetic=lambda load, make: [text("2 x {load}", load=number(load, 3))],
    )
    machine = blocked_product()
    chart = show(ladder({"three loops": 1.5e7, "tiles": 5e9, "library": 4e10}))
    elements = {"EXPLORER": explorer, "MACHINE": machine, "CHART": chart}
    return {name: element._repr_mimebundle_()["text/html"] for name, element in elements.items()}


def _lab(chart: str) -> nbformat.NotebookNode:
    """A notebook with a cell of each make."""
    v4 = nbformat.v4
    printed = v4.new_output("stream", name="stdout", text="rows  1    27.8\nrows 16    91.9\n")
    drawn = v4.new_output("display_data", data={"text/html": chart, "text/plain": "a chart"})
    cells = [
        v4.new_markdown_cell("# Lab: MatMul\n\nA cell that prints, one that is folded, one that draws."),
        v4.new_code_cell("import time\n\nprint(time.time())  # now", outputs=[printed], execution_count=1),
        v4.new_code_cell("draw()", outputs=[drawn], execution_count=2, metadata={"tags": ["hide-input"]}),
    ]
    for i, cell in enumerate(cells):
        cell.id = f"cell-{i}"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return v4.new_notebook(cells=cells, metadata={**kernel, "language_info": {"name": "python"}})


# ---- Screenshots -----------------------------------------------------------------------------------------------------

PIECES = """margin => {
    const frame = [".bd-sidebar-primary .sidebar-primary-items__start", ".bd-header-article",
        ".bd-sidebar-secondary .page-toc", ".prev-next-area"];
    const inner = [".bd-article section:not(.part) > :not(section, .chapters, .how)", ".chapters section", ".how dl"];
    const alike = /^(docutils|container|admonition|simple|d-print-none|noprint)$/;
    const found = [];
    for (const el of document.querySelectorAll([...inner, ...frame])) {
        const box = el.getBoundingClientRect(), kind = `${el.localName} ${el.className}`.split(/\\s+/);
        if (box.width < 2 || box.height < 2 || box.right < 0) continue;
        found.push([kind.filter(word => !alike.test(word)).slice(0, 3).join(" "),
            box.left - margin, box.top + scrollY - margin, box.right + margin, box.bottom + scrollY + margin]);
    }
    return found;
}"""

READ = {"version": 1, "questions": {}, "read": {"2": "2026-11-30", "E": "2026-11-30"}}

STILL = """
*, ::before, ::after { text-rendering: geometricPrecision !important; caret-color: transparent !important; }
.bd-header-article, .bd-sidebar-primary { position: static !important; }
"""  # letters as wide as they are drawn, whatever a system makes of them; and nothing that moves with the scroll

READY = """async () => {
    await document.fonts.ready;
    for (const live of document.querySelectorAll(".hw-live")) {
        live.scrollIntoView();
        while (!live.dataset.ready) await new Promise(resolve => setTimeout(resolve, 20));
    }
    scrollTo(0, 0);
}"""


def take(browser, url: str, scale: float = 1) -> dict[str, dict[str, Piece]]:
    """Every piece of every page, by view; `scale` is of the device."""
    found = {view: {} for view in VIEWS}
    for width in dict.fromkeys(width for width, *_ in VIEWS.values()):
        page = new_page(browser, width, scale)
        for path in PAGES:
            visit(page, f"{url}/{path}.html")
            for view in VIEWS:
                if VIEWS[view][0] == width:
                    found[view] |= pieces(page, path, view)
        page.context.close()
    return found


def new_page(browser, width: int, scale: float = 1):
    """A page in which nothing moves, of a reader who has read what there is to read."""
    options = {"viewport": {"width": width, "height": 900}, "device_scale_factor": scale, "reduced_motion": "reduce"}
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
    page.add_init_script(f"localStorage['hw:progress'] = {json.dumps(json.dumps(READ))}")
    return page


def visit(page, address: str) -> None:
    """Open a page of the specimen, and wait for all that comes late."""
    page.goto(address, wait_until="load")
    page.add_style_tag(content=STILL)
    page.evaluate(READY)


def pieces(page, path: str, view: str) -> dict[str, Piece]:
    """The pieces of the page that is open, in a view of its width."""
    _, theme, media = VIEWS[view]
    page.emulate_media(**{"media": "screen", "forced_colors": "none", "color_scheme": theme, **media})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    page.wait_for_timeout(250)  # charts are drawn anew in the colours of the theme
    boxes = page.evaluate(PIECES, MARGIN)
    shot = page.screenshot(full_page=True, scale="css", animations="disabled")
    shot = Image.open(io.BytesIO(shot)).convert("RGB")
    found, seen, bottom = {}, Counter(), 0
    for kind, left, top, right, below in boxes:
        seen[kind] += 1
        box = (max(0, round(left)), max(0, round(top)), min(shot.width, round(right)), min(shot.height, round(below)))
        if box[2] > box[0] and box[3] > box[1]:
            found[f"{path} {kind} {seen[kind]}"] = Piece(shot.crop(box), round(top - bottom))
            bottom = below
    return found


# ---- Reduction and comparison ----------------------------------------------------------------------------------------


def reduce(piece: Piece, dx: int = 0, dy: int = 0) -> Reduced:
    """What is kept of a piece; `dx` and `dy` shift the grid of points by a pixel or so."""
    width, height = piece.picture.size
    grid = -(-width // POINT), -(-height // POINT)
    corner = piece.picture.getpixel((0, 0))
    ground = Image.new("RGB", (grid[0] * POINT, grid[1] * POINT), corner)
    ground.paste(piece.picture, (dx, dy))
    points = ground.resize(grid, Image.Resampling.BOX).point(lambda value: value & 252 | 2)
    colours = {colour: share for colour, share in _colours(piece.picture).items() if colour in _tokens()}
    return Reduced((width, height), piece.gap, colours, points)


@functools.cache
def _tokens() -> frozenset[str]:
    """The colours that the style sheets name. Hairlines that fall between two pixels blend into others."""
    sheets = (ROOT / f"book/_web/css/{name}.css" for name in ("tokens", "print"))
    found = {colour for sheet in sheets for colour in re.findall(r"#([0-9a-f]{3,6})\b", sheet.read_text("utf8"))}
    return frozenset(
        "#" + (colour if len(colour) == 6 else "".join(2 * letter for letter in colour)) for colour in found
    )


def _colours(picture: Image.Image) -> dict[str, float]:
    """Plain colours and their shares."""
    total = picture.width * picture.height
    many = picture.getcolors(total) or ()
    return {f"#{bytes(colour).hex()}": round(n / total, 4) for n, colour in many if n / total >= SHARE}


def differences(piece: Piece, kept: Reduced) -> list[str]:
    """What a reader would see, in words; empty where nothing differs."""
    size, gap = piece.picture.size, piece.gap
    if max(abs(a - b) for a, b in zip(size, kept.size, strict=True)) > PIXELS:
        return [f"is {size[0]} x {size[1]} pixels and was {kept.size[0]} x {kept.size[1]}"]
    told = _shades(_colours(piece.picture), kept.colours)
    if abs(gap - kept.gap) > PIXELS:
        told.append(f"begins {gap - kept.gap:+} pixels lower below what comes before it")
    least = None
    for dx, dy in SHIFTS:  # a border half a pixel further is the same border
        points = reduce(piece, dx, dy).points.crop((0, 0, *kept.points.size))
        differs = ImageChops.difference(points, kept.points)
        least = differs if least is None else ImageChops.darker(least, differs)
        if not (found := _seen(least)):
            break
    return told + found


def _seen(differs: Image.Image) -> list[str]:
    """What of a difference, point by point, is more than noise."""
    told, (width, height) = [], differs.size
    loud = functools.reduce(ImageChops.lighter, differs.split())
    above, far = (sum(value > limit for value in loud.tobytes()) for limit in (LEVELS, 2 * LEVELS))
    if above > max(2, POINTS * width * height) or far >= LOUD:
        told.append(f"differs in {above} of {width * height} points")
    for shape, name in (((1, height), "row"), ((width, 1), "column")):
        if (worst := max(loud.resize(shape, Image.Resampling.BOX).tobytes())) > LINE:
            told.append(f"differs by {worst} levels along a {name}")
    return told


def _shades(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """Colours of the book that went, or cover much more or less than they did."""

    def near(colour: str, others: dict[str, float]) -> float:
        channels = bytes.fromhex(colour[1:])
        return sum(
            share
            for other, share in others.items()
            if max(abs(a - b) for a, b in zip(channels, bytes.fromhex(other[1:]), strict=True)) <= SHADE
        )

    return [
        f"{colour} covered {share:.1%} and covers {found:.1%}"
        for colour, share in before.items()
        if share > 2 * SHARE and not 0.5 < (found := near(colour, now)) / near(colour, before) < 2
    ]


# ---- What is kept ----------------------------------------------------------------------------------------------------


def keep(taken: dict[str, dict[str, Piece]], folder: Path = KEPT) -> None:
    """Write one picture and one list a view."""
    for view, pieces in taken.items():
        reduced = {name: reduce(piece) for name, piece in pieces.items()}
        atlas = Image.new(
            "RGB",
            (max(r.points.width for r in reduced.values()), sum(r.points.height for r in reduced.values())),
        )
        facts, y = {}, 0
        for name, r in reduced.items():
            atlas.paste(r.points, (0, y))
            facts[name] = {"size": r.size, "gap": r.gap, "colours": r.colours}
            y += r.points.height
        atlas.save(folder / f"{view}.png", optimize=True)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items())
        (folder / f"{view}.json").write_text(f"{{\n{lines}\n}}\n")


def kept(view: str, folder: Path = KEPT) -> dict[str, Reduced]:
    """What was kept of a view."""
    atlas, y, found = Image.open(folder / f"{view}.png").convert("RGB"), 0, {}
    for name, fact in json.loads((folder / f"{view}.json").read_text()).items():
        width, height = (-(-side // POINT) for side in fact["size"])
        points = atlas.crop((0, y, width, y + height))
        found[name] = Reduced(tuple(fact["size"]), fact["gap"], fact["colours"], points)
        y += height
    return found


def compare(pieces: dict[str, Piece], before: dict[str, Reduced]) -> dict[str, list[str]]:
    """What differs, by piece. A piece that came or went, or stands elsewhere in the order, differs too."""
    told = {name: ["is new"] for name in pieces.keys() - before.keys()}
    told |= {name: ["is gone"] for name in before.keys() - pieces.keys()}
    if not told and list(pieces) != list(before):
        moved = next(name for name, other in zip(pieces, before, strict=True) if name != other)
        told[moved] = ["stands elsewhere in the order"]
    both = [name for name in pieces if name in before]
    return told | {name: found for name in both if (found := differences(pieces[name], before[name]))}


def show(view: str, pieces: dict[str, Piece], before: dict[str, Reduced], told: dict[str, list[str]]) -> Path:
    """For each piece that differs a picture: as it was, as it is, and where it differs. Returns their folder."""
    folder = OUT / view
    folder.mkdir(parents=True, exist_ok=True)
    for name in told:
        if name in pieces and name in before:
            now, was = pieces[name].picture, before[name].points
            was = was.resize((was.width * POINT, was.height * POINT), Image.Resampling.NEAREST)
            points = reduce(pieces[name]).points.crop((0, 0, *before[name].points.size))
            where = ImageChops.difference(points, before[name].points).point(lambda value: min(255, 4 * value))
            where = where.resize(was.size, Image.Resampling.NEAREST)
            sheet = Image.new("RGB", (now.width + 2 * was.width + 24, max(now.height, was.height)), "#808080")
            for picture, x in ((was, 0), (now, was.width + 12), (where, was.width + now.width + 24)):
                sheet.paste(picture, (x, 0))
            sheet.save(folder / f"{name.replace('/', '-').replace(' ', '_')}.png")
    return folder


def main() -> None:
    """`make look`: take the pictures anew."""
    from playwright.sync_api import sync_playwright

    from book import chromium
    from book.serve import serve

    program = chromium.find()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = serve(build(Path(folder)))
        browser = playwright.chromium.launch(executable_path=program, args=chromium.FLAGS)
        keep(take(browser, f"http://127.0.0.1:{server.server_port}"))
        browser.close()
        server.shutdown()
    files = [path for path in KEPT.glob("*") if path.suffix in (".png", ".json")]
    print(f"{KEPT}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
