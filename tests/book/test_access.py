"""Every page for every reader: by keyboard, by thumb, by ear, enlarged, in the system's own colours, without motion.

One page is opened a path and looked at in many ways, for loading and a new width are what takes the time. The tests
of a page leave it as they found it but for width and theme, which each sets that depends on them; they stand in an
order in which these change little. Of long runs of one make (chips, rows, entries of the reference) a quarter is looked
at in most ways; axe sees another quarter in each of its views, of formulas and code too. What the tests ask is in
access.js.
"""

import io
import re
from collections import Counter
from itertools import pairwise

import pytest
from PIL import Image

from tests.book.project import ROOT, pages, settle, watch

COVER, CHAPTER, CATALOGUE, LAB = "book/index.html", "book/02-matmul.html", "book/chips.html", "notebooks/02-matmul.html"
RESULTS = "search.html?q=roofline"
PATHS = [*pages(), RESULTS, "genindex.html", "py-modindex.html", "404.html"]
AXE = ROOT / "book/_web/node_modules/axe-core/axe.min.js"
ASKS = ROOT / "tests/book/access.js"


def show(page, width=1280, dark=False):
    """Bring a page into a view; live elements follow the size, and all of it the theme."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.evaluate("dark => { document.documentElement.dataset.theme = dark ? 'dark' : 'light'; }", dark)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture(scope="module")
def tab(browser, site_url):
    """A page of a browser, for one path after another: a new one costs as much as what is loaded into it."""
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    watch(page, site_url)
    yield page
    context.close()


@pytest.fixture(scope="module", params=PATHS)
def visited(request, tab, site_url):
    """A page with all its lazy parts, and `access` in it: it comes on a phone, and goes where a test wants it."""
    tab.evaluate("location.host && [localStorage, sessionStorage].forEach(kept => kept.clear())")  # it knows nothing
    tab.goto("about:blank")
    tab.set_viewport_size({"width": 375, "height": 1000})
    tab.foreign, tab.problems = [], []
    tab.goto(f"{site_url}/{request.param}", wait_until="load")
    if request.param == RESULTS:
        tab.wait_for_selector("#search-results li a")
    settle(tab)
    tab.evaluate(ASKS.read_text("utf8"))
    tab.path, tab.on_a_phone = request.param, tab.evaluate("access.overflow()")
    tab.evaluate("scrollTo(0, 0)")
    tab.evaluate("access.thin(0, 4)")
    return tab


# ---- What a page is made of ------------------------------------------------------------------------------------------


def test_a_page_has_one_title_and_headings_in_order(visited):
    levels = visited.evaluate("access.headings()")
    assert levels[0] == 1 and levels.count(1) == 1, levels
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    assert visited.evaluate("document.documentElement.lang") == "en"


def test_no_two_pages_share_a_title(site):
    title = re.compile("<title>(.*?)</title>", re.S)
    titles = Counter(title.search((site / path.partition("?")[0]).read_text("utf8"))[1].strip() for path in PATHS)
    assert [title for title, count in titles.items() if count > 1] == []


def test_a_page_that_comes_on_a_phone_is_whole(visited):
    assert (visited.foreign, visited.problems, visited.on_a_phone) == ([], [], [])


# ---- Axe -------------------------------------------------------------------------------------------------------------

VIEWS = ((375, False), (375, True), (1280, True), (1280, False))
# One page of each make, and those with states that only a hand brings about, have their article seen in all four views.
# Of any other two see it: what axe asks depends on the width or, for colours, on the theme; each of both is there.
# The page around an article, of which either width has parts of its own, is seen in all four everywhere. What colour
# code has is judged by access.contrasts too, and there in whole.
ALL_VIEWS = {COVER, CHAPTER, CATALOGUE, LAB}


def unfold(page, refused):
    """Everything that can be opened, open: folds, a term's definition, the filter of the catalogue, a refusal."""
    page.evaluate("access.unfold()")
    if page.path == CHAPTER:
        page.evaluate("width => document.querySelector('#hw-batch').model.set('width', width)", refused or "16 bits")
        refusal = "refused => Boolean(document.querySelector('#hw-batch .hw-slot').dataset.refusal) === refused"
        page.wait_for_function(refusal, arg=bool(refused))
        page.keyboard.press("Tab")
        page.locator("a.term").nth(3).focus()
        page.locator(".term-tip").wait_for(state="visible")
    if page.path == CATALOGUE:
        page.locator("label[for=show-gpu]").click()
        page.locator(".catalogue .search").fill("nvidia")


def test_axe_finds_nothing_in_the_open_page(visited):
    """What is folded shows a part of this."""
    visited.evaluate(AXE.read_text("utf8"))
    found = {}
    for share, (width, dark) in enumerate(VIEWS):
        show(visited, width, dark)
        unfold(visited, refused="4 bits" if width == 1280 else "")
        article = visited.path in ALL_VIEWS or share in (1, 3)
        found[width, dark] = visited.evaluate("asked => access.axe(...asked)", [share, len(VIEWS), article])
    visited.evaluate("access.thin(0, 4)")
    visited.keyboard.press("Escape")  # the definition of the term
    if visited.path == CATALOGUE:
        visited.locator(".catalogue .search").fill("")
        visited.locator("label[for=show-all]").click()
    assert {at: faults for at, faults in found.items() if faults} == {}


# ---- Seeing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["day", "night"])
def test_what_axe_leaves_open_can_be_read_too(visited, dark):
    show(visited, dark=dark)
    found = visited.evaluate("access.contrasts()")
    assert found["faults"] == []
    assert found["count"] > 100 or visited.path != CHAPTER


@pytest.mark.parametrize("dark", [True, False], ids=["night", "day"])
def test_every_target_shows_the_focus(visited, dark):
    show(visited, dark=dark)
    visited.keyboard.press("Tab")
    assert visited.evaluate("access.focusAll()") == []


def test_a_picture_has_a_name_a_sentence_and_its_data(visited):
    show(visited)
    found = visited.evaluate("access.pictures()")
    assert found["faults"] == []
    assert found["count"] >= 5 or visited.path != CHAPTER


def test_who_asks_for_less_motion_gets_none(visited):
    show(visited)
    assert visited.evaluate("access.moving()") == []
    assert visited.get_by_role("button", name="Play").count() == 0


def test_nothing_sticks_out_at_any_width(visited):
    """Between two widths at which a rule of the page changes the narrowest is the hardest; some between, by make."""
    edges = visited.evaluate("access.breakpoints()")
    widths = {320, 375, 1920, *(edge for edge in edges if 320 < edge <= 1920)}
    if visited.path in ALL_VIEWS:
        widths |= {*range(400, 1920, 190)}
    if visited.path == CATALOGUE:  # which follows its own width, beside the sidebar or alone
        widths |= {*range(640, 1300, 20)}
    faults = {}
    for width in sorted(widths, reverse=True):
        visited.set_viewport_size({"width": width, "height": 1000})
        if found := visited.evaluate("access.overflow()"):
            faults[width] = found
    assert faults == {}


@pytest.mark.parametrize("width", [320, 640], ids=["400 %", "200 %"])
def test_enlarged_nothing_is_cut_and_all_scrolls_by_keyboard(visited, width):
    show(visited, width)
    assert visited.evaluate("access.cut()") == []
    assert visited.evaluate("access.unreachable()") == []


SPACED = """
:not(svg *) { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
p { margin-bottom: 2em !important; }"""


@pytest.mark.parametrize("width", [1280, 375])
def test_wider_spaced_text_loses_nothing(visited, width):
    """WCAG 1.4.12."""
    show(visited, width)
    sheet = visited.add_style_tag(content=SPACED)
    faults = visited.evaluate("[...access.overflow(), ...access.cut()]")
    sheet.evaluate("sheet => sheet.remove()")
    assert faults == []


def test_a_thumb_can_hit_every_target(visited):
    show(visited, 375)
    found = visited.evaluate("access.sizes()")
    assert found["faults"] == []
    assert found["count"] > 0


def test_nothing_that_unfolds_sticks_out(visited):
    visited.evaluate("access.whole()")
    folded = visited.evaluate("[...document.querySelectorAll('details')].map(details => details.open)")
    visited.evaluate("access.unfold()")
    faults = {}
    for width in (375, 320, 768, 1280):
        visited.set_viewport_size({"width": width, "height": 1000})
        if found := visited.evaluate("access.overflow()"):
            faults[width] = found
    visited.evaluate("open => document.querySelectorAll('details').forEach((el, i) => { el.open = open[i]; })", folded)
    visited.evaluate("access.thin(0, 4)")
    assert faults == {}


def test_nothing_went_wrong_and_no_other_host_was_asked(visited):
    """In all that the tests above did."""
    assert (visited.foreign, visited.problems) == ([], [])


# ---- Reaching --------------------------------------------------------------------------------------------------------


STEP = """() => {
    const el = document.activeElement, box = el.getBoundingClientRect();
    return { name: access.name(el), lost: el === document.body,
        fault: el === document.body ? null : access.indicator(el), order: access.walk.indexOf(el),
        top: box.top + scrollY, bottom: box.bottom + scrollY, left: box.left, right: box.right,
        inArticle: Boolean(el.closest(".bd-article")), inView: box.bottom > 0 && box.top < innerHeight };
}"""


@pytest.mark.parametrize("path", [CHAPTER, CATALOGUE])
def test_the_keyboard_walks_through_the_whole_page_in_the_order_of_the_eye(open_page, path):
    page = open_page(path, reduced_motion="reduce")  # nothing glides in later
    settle(page)
    if path == CATALOGUE:  # a dozen records speak for all
        page.evaluate("document.querySelectorAll('.chip-table > tbody:nth-of-type(n + 6)').forEach(el => el.remove())")
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(ASKS.read_text("utf8"))
    page.evaluate("access.walk = access.targets()")
    names = page.evaluate("access.walk.map(access.name)")
    # of radio buttons the keyboard reaches one; the arrows go on from there
    groups = page.evaluate("access.walk.map(el => el.type === 'radio' ? el.name : null)")
    stops = []
    for _ in range(len(names) + 5):
        page.keyboard.press("Tab")
        stop = page.evaluate(STEP)
        if stop["lost"] or (stops and stop["order"] == stops[0]["order"]):
            break
        stops.append(stop)
    reached = {stop["order"] for stop in stops}
    reached_groups = {groups[order] for order in reached if order >= 0}
    passed = [i for i in range(len(names)) if i not in reached]
    assert [names[i] for i in passed if groups[i] is None or groups[i] not in reached_groups] == []
    assert [stop["fault"] for stop in stops if stop["fault"]] == []
    assert [stop["name"] for stop in stops if not stop["inView"]] == []
    here = [stop for stop in stops if stop["inArticle"]]
    back = [
        (before["name"], after["name"])
        for before, after in pairwise(here)
        if after["bottom"] < before["top"] and after["left"] < before["right"]
    ]
    assert back == []
    assert page.problems == []


def test_no_action_loses_the_focus(open_page):
    page = open_page(CHAPTER)
    settle(page)
    buttons = ".bd-article :is(.ask, .hw-live) button, .bd-article summary"
    page.evaluate("selector => { window.actions = [...document.querySelectorAll(selector)]; }", buttons)
    lost = []
    for i in range(page.evaluate("window.actions.length")):
        name = page.evaluate("i => { window.actions[i].focus(); return window.actions[i].textContent.trim(); }", i)
        if not page.evaluate("i => document.activeElement === window.actions[i]", i):
            continue  # hidden by now
        page.keyboard.press("Enter")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if page.evaluate("document.activeElement === document.body"):
            lost.append(name)
    assert lost == []
    assert page.problems == []


# ---- The system's own colours ----------------------------------------------------------------------------------------


def pixels(page, box):
    """The picture of a part of the page, in its own pixels."""
    clip = {key: box[key] for key in ("x", "y", "width", "height")}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


def inked(image):
    """Share of a picture that is not of its most frequent colour."""
    colours = Counter(image.getdata())
    return 1 - colours.most_common(1)[0][1] / (image.width * image.height)


def shot(page, locator, wide=None):
    """The picture of an element, or of its first `wide` pixels."""
    locator.scroll_into_view_if_needed()
    box = locator.bounding_box()
    return pixels(page, box | {"width": wide or box["width"]})


def test_forced_colours_show_what_is_chosen_how_long_a_bar_is_and_where_the_focus_is(open_page):
    page = open_page(CATALOGUE, forced_colors="active")
    labels = page.locator(".filter label[for^=show]")
    grounds = labels.evaluate_all("labels => labels.map(label => getComputedStyle(label).backgroundColor)")
    assert grounds.count(grounds[0]) == 1 and len(set(grounds)) == 2
    assert inked(shot(page, page.locator(".chip-table tbody .peak-cell").first)) > 0.02
    bar = page.locator(".chip-table .bar").first
    assert set(shot(page, bar).getdata()) != set(shot(page, page.locator(".chip-table .kind-cell").nth(1)).getdata())
    current = page.locator("nav.bd-links li.current > a")
    assert current.evaluate("link => getComputedStyle(link).borderLeftWidth") == "4px"
    unfocused = shot(page, labels.first)
    page.locator("#show-all").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    box = labels.first.bounding_box()
    around = {"x": box["x"] - 5, "y": box["y"] - 5, "width": box["width"] + 10, "height": box["height"] + 10}
    focused = pixels(page, around)
    page.evaluate("document.activeElement.blur()")
    assert unfocused and focused.tobytes() != pixels(page, around).tobytes()


# ---- Where the focus shows on a part, pixels have to tell ------------------------------------------------------------


def contrast(one, other):
    """Of two pixels, as WCAG has it."""

    def luminance(pixel):
        parts = [part / 255 for part in pixel]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["day", "night"])
@pytest.mark.parametrize(
    ("path", "selector", "drawn"),
    [
        (CHAPTER, ".ask .ruler", ".ask .ruler"),
        (CHAPTER, "#hw-batch input[type=range]", "#hw-batch input[type=range]"),
        (COVER, ".wafer a", ".wafer a"),
        (CATALOGUE, "#show-all", "label[for=show-all]"),
    ],
)
def test_focus_on_a_part_changes_enough_pixels(open_page, path, selector, drawn, dark):
    page = open_page(path, dark=dark)
    if path == CHAPTER:
        settle(page)
    page.keyboard.press("Tab")
    part = page.locator(drawn).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    around = {"x": box["x"] - 6, "y": box["y"] - 6, "width": box["width"] + 12, "height": box["height"] + 12}
    page.evaluate("document.activeElement.blur()")
    before = pixels(page, around)
    page.locator(selector).first.focus()
    after = pixels(page, around)
    changed = sum(contrast(a, b) >= 3 for a, b in zip(before.getdata(), after.getdata(), strict=True) if a != b)
    assert changed >= 100  # about a ring of 2 px around 24 px


# ---- Without a script, and with a thumb ------------------------------------------------------------------------------


WORDS = """() => {
    const article = document.querySelector(".bd-article").cloneNode(true);
    const dynamic = "script, style, .hw-live, .ask, .reply, .filter, button";
    for (const el of article.querySelectorAll(dynamic)) el.remove();
    return article.textContent.split(/\\s+/).filter(Boolean);
}"""


@pytest.mark.parametrize("path", [CHAPTER, LAB, COVER])
def test_without_a_script_every_word_and_picture_is_there(open_page, path):
    page = open_page(path, width=375, java_script_enabled=False)
    whole = open_page(path, width=375)
    settle(whole)
    whole.evaluate("scrollTo(0, 0)")
    assert Counter(whole.evaluate(WORDS)) - Counter(page.evaluate(WORDS)) == Counter()
    pictures = page.locator(".hw-slot")
    assert pictures.count() == whole.locator(".hw-slot").count()
    for i in range(pictures.count()):
        assert pictures.nth(i).locator("svg").first.bounding_box()["height"] > 100


def test_a_thumb_does_everything(open_page):
    page = open_page(CHAPTER, width=375, height=740, has_touch=True, is_mobile=True)
    settle(page)
    page.evaluate(ASKS.read_text("utf8"))

    guess = page.locator(".block.guess").first
    guess.locator(".field input").tap()
    page.keyboard.type("12")
    guess.get_by_role("button", name="Reveal").tap()
    assert guess.locator(".guess-scale .you").is_visible()

    batch = page.locator("#hw-batch")
    slider = batch.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    before, box = batch.locator(".hw-say").inner_text(), slider.bounding_box()
    y = box["y"] + box["height"] / 2
    fingers = page.context.new_cdp_session(page)
    for kind, share in (("touchStart", 0.03), ("touchMove", 0.3), ("touchMove", 0.6), ("touchEnd", None)):
        points = [] if share is None else [{"x": box["x"] + share * box["width"], "y": y}]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_function("before => document.querySelector('#hw-batch .hw-say').textContent !== before", arg=before)
    page.get_by_label("8 bits").first.tap()
    assert page.evaluate("document.querySelector('#hw-batch').model.get('width')") == "8 bits"

    machine = page.locator(".hw-live[data-kind=machine]").first
    machine.get_by_role("button", name="Play").tap()
    page.wait_for_function("document.querySelector('.hw-live[data-kind=machine]').model.get('at') > 1")
    machine.get_by_role("button", name="Pause").tap()
    machine.get_by_role("button", name="Step", exact=True).tap()

    choice = page.locator(".block.work:has(.ask.choose), .block.guess:has(.ask.choose)").first
    choice.locator(".option label").first.tap()
    choice.get_by_role("button", name="Check").tap()
    assert choice.locator(".reply").inner_text().strip()
    choice.locator("summary").first.tap()
    assert choice.locator("details").first.get_attribute("open") is not None

    page.evaluate("scrollTo(0, 0)")
    page.locator(".primary-toggle:visible").first.tap()
    entry = page.locator(".bd-sidebar-primary a:visible, dialog a:visible", has_text="Notation").first
    entry.wait_for(state="visible")
    page.wait_for_timeout(400)  # it slides in
    assert page.evaluate("access.sizes()")["faults"] == []
    entry.tap()
    page.wait_for_url("**/notation.html")

    page.locator(".search-button:visible, .search-button__button:visible").first.tap()
    field = page.locator("input[type=search]:visible").first
    field.tap()
    page.keyboard.type("ridge")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.locator("#search-results li a").first.tap()
    page.wait_for_url(lambda url: "search.html" not in url)
    assert page.problems == []
