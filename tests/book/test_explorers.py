"""Explorers in a real browser: the page computes what Python computes, and every reader can use it."""

import re
from urllib.parse import unquote

import pytest

from hwlab.figures import Axis, Choice, Result, Rule, Slider, explore, show
from hwlab.figures.live import source
from hwlab.figures.matmul import flop_by_context, gemm_times, ladder, layer_on_roofline, share_of_one_token
from hwlab.figures.roofline import batch_explorer
from hwlab.formula import ceil, exp, log2, lookup, minimum, number, si, sqrt, text, where
from hwlab.specs.measurements import measurements
from tests.book.live import open_live


@pytest.fixture(autouse=True)
def static(monkeypatch):
    monkeypatch.setenv("HWLAB_STATIC", "1")


def queue(load, servers, law, share):
    """A made-up formula that uses every helper once."""
    busy = minimum(load / servers, 0.999) ** 2 * lookup({"a": 1, "b": 0.5}, law)
    return exp(-busy) * sqrt(share) + ceil(log2(load)) / 7 - (load % 3) / 10 + where(law == "b", 1e-6, load // 4)


def everything():
    """An explorer that uses every part of `explore`."""
    return explore(
        queue,
        x=Axis("load", 0.5, 300, 2, scale="log", title="Load", unit="GB/s"),
        y=Result("Delay", "s", prefix=True),
        sliders=[
            Slider("servers", 1, 400, 7, step=1, title="Servers"),
            Choice("law", ["a", "b"], "a", title="Law"),
            Slider("share", 1e-9, 1e-3, 1e-6, scale="log", title="Share", unit="B", prefix=True),
        ],
        says=lambda load, servers, law, share: text(
            "Law {law}: {load} of {servers} make {delay}; the share is {share}.",
            law=law,
            load=number(load, 4),
            servers=servers,
            delay=si(queue(load, servers, law, share), "s"),
            share=si(share, "B"),
        ),
        arithmetic=lambda load, servers, law, share: [
            text("{a} / {b} = {c}", a=load, b=servers, c=load / servers),
            text("busy {p} %", p=number(100 * minimum(load / servers, 1), 2)),
        ],
        refuses=lambda load, servers, law, share: where(
            load > 2 * servers, text("A load of {load} overruns {n} servers.", load=load, n=servers), ""
        ),
        rules=[
            Rule(lambda load, servers, law, share: servers, lambda load, servers, law, share: "full"),
            Rule(lambda load, servers, law, share: sqrt(share), lambda load, servers, law, share: "floor", axis="y"),
        ],
        also={"by half": lambda load, servers, law, share: queue(load, servers, law, share) / 2},
        name="everything",
    )


FOCUS = """(e => ({ tag: e.tagName, type: e.type, ring: getComputedStyle(e).outlineStyle }))(document.activeElement)"""
MODEL = "(m => ['tokens', 'chip', 'width', 'd_model'].map(key => m.get(key)))(document.querySelector('.hw-live').model)"


def test_the_keyboard_alone_moves_everything(open_page):
    page = open_live(open_page, batch_explorer())
    seen, address = [], page.url
    for _ in range(12):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        seen.append((focus["tag"], focus["type"]))
        if focus["type"] == "range":
            before = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
            page.keyboard.press("ArrowRight")
            page.wait_for_function(
                "before => document.activeElement.getAttribute('aria-valuetext') !== before", arg=before
            )
        elif focus["tag"] == "SELECT":
            page.keyboard.press("ArrowDown")
        elif focus["type"] == "radio":
            page.keyboard.press("ArrowRight")
        elif focus["tag"] == "SUMMARY":
            page.keyboard.press("Enter")
            assert focus["ring"] == "solid"
        if seen[-1] == ("BUTTON", "button") and seen.count(seen[-1]) == 2:
            break
    assert [kind for kind in seen if kind[0] in ("INPUT", "SELECT")] == [
        ("INPUT", "range"), ("SELECT", "select-one"), ("INPUT", "radio"), ("INPUT", "range"),
    ]  # fmt: skip
    assert page.evaluate(MODEL) == [2, "a100-sxm-80gb", "8 bits", 9216]
    assert page.locator("details[open]").count() == 2
    page.keyboard.press("Enter")  # Start again
    page.wait_for_function("document.querySelector('.hw-live').model.get('tokens') === 1")
    assert page.url.partition("#")[0] == address
    assert page.problems == []


def test_the_address_holds_the_state_and_brings_it_back(open_page):
    page = open_live(open_page, batch_explorer())
    page.locator("select").select_option("tpu-v7")
    page.locator("input[type=range]").first.fill("40")
    page.wait_for_function("location.hash")
    fragment = page.evaluate("location.hash")
    assert re.fullmatch(r"#hw:batch:v1:tokens=\d+;chip=tpu-v7;width=16%20bits;d_model=8192", fragment)
    says = page.locator(".hw-say").text_content()
    again = open_live(open_page, batch_explorer(), fragment=fragment)
    assert again.locator(".hw-say").text_content() == says
    assert again.locator("select").input_value() == "tpu-v7"
    again.evaluate("location.hash = '#hw:batch:v1:tokens=64;chip=wse-3'")  # a link within the page
    again.wait_for_function("document.querySelector('.hw-say').textContent.includes('WSE-3')")
    assert again.problems == []


def test_a_number_and_its_unit_do_not_part(open_page):
    page = open_live(open_page, batch_explorer(), width=375)
    page.locator("input[type=range]").first.fill("4")
    page.wait_for_selector(".hw-say .hw-size")
    sizes = page.locator(".hw-say .hw-size")
    assert all(re.fullmatch(r"\d (%|[kMGTPµmn]?[A-Za-z]+(/s)?)", text) for text in sizes.all_inner_texts())
    assert set(sizes.evaluate_all("parts => parts.map(part => part.getClientRects().length)")) == {1}


@pytest.mark.parametrize(
    "fragment",
    [
        "#hw:batch:v1:tokens=0;chip=abacus;d_model=x",
        "#hw:batch:v0:tokens=64",
        "#hw:batch:v1:",
        "#hw:other:v1:tokens=64",
        "#hw:batch:v1:chip=%E0%A4%A",
    ],
)
def test_an_old_or_broken_address_leaves_the_start(open_page, fragment):
    explorer = batch_explorer()
    page = open_live(open_page, explorer, fragment=fragment)
    assert page.locator(".hw-say").text_content() == explorer.says()
    assert page.problems == []


CUT = """() => [...document.querySelectorAll('.hw-slot')].flatMap(slot => {
  const { left, right } = slot.getBoundingClientRect();
  const sticksOut = box => box.width && (box.left < left - 1 || box.right > right + 1);
  const outside = text => sticksOut(text.getBoundingClientRect());
  const seen = text => text.textContent && getComputedStyle(text).opacity !== '0';
  return [...slot.querySelectorAll('text')].filter(text => seen(text) && outside(text)).map(text => text.textContent);
})"""
SMALL = """() => [...document.querySelectorAll('.hw-live :is(button, select, summary, input)')]
  .map(node => node.type === 'radio' ? node.closest('label') : node)
  .filter(node => node.getBoundingClientRect().width < 24 || node.getBoundingClientRect().height < 24)
  .map(node => node.outerHTML)"""
TINY = """() => [...document.querySelectorAll('.hw-slot text')]
  .filter(text => parseFloat(getComputedStyle(text).fontSize) < 13).map(text => text.textContent)"""


@pytest.mark.parametrize(("width", "dark"), [(320, False), (375, True), (1280, False)])
def test_every_figure_fits_its_page(open_page, width, dark):
    steps = ladder({"loops": 2e6, "BLAS": 2e10}, peak=8e10)
    times = gemm_times([m for m in measurements("matmul", chip="h100-sxm", dtype="bf16") if m.n in (4096, 8192)])
    charts = [show(chart) for chart in (layer_on_roofline(), flop_by_context(), share_of_one_token(), steps, times)]
    page = open_live(open_page, batch_explorer(), everything(), *charts, width=width, dark=dark, height=6000)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CUT) == []
    assert page.evaluate(SMALL) == []
    assert page.evaluate(TINY) == []


SIXTY_FOUR = """() => {
  const { view } = document.querySelector('.hw-live');
  const box = document.querySelector('.hw-slot svg').getBoundingClientRect();
  return [box.left + view.origin()[0] + view.scale('x')(64), box.top + 90];
}"""


def test_the_picture_can_be_touched(open_page):
    page = open_live(open_page, batch_explorer())
    x, y = page.evaluate(SIXTY_FOUR)
    page.mouse.click(x, y)
    assert page.evaluate("document.querySelector('.hw-live').model.get('tokens')") == pytest.approx(64, rel=0.05)
    page.mouse.down()
    page.mouse.move(x + 40, y)
    page.mouse.up()
    assert 70 < page.evaluate("document.querySelector('.hw-live').model.get('tokens')") < 200


def test_without_a_script_the_page_still_says_it(open_page):
    explorer = batch_explorer()
    page = open_live(open_page, explorer, java_script_enabled=False)
    assert page.locator(".hw-slot > svg").is_visible()
    assert page.locator(".hw-say").inner_text() == explorer.says()
    assert page.locator("dd").all_inner_texts() == ["1", "H100 SXM5 80GB", "16 bits", "8,192"]


def test_the_data_are_a_table_that_follows(open_page):
    explorer = batch_explorer()
    page = open_live(open_page, explorer)
    page.locator(".hw-data summary").click()
    page.locator("select").select_option("wse-3")
    page.wait_for_function("document.querySelector('.hw-data td:nth-child(2)').textContent.includes('15.8 PFLOP/s')")
    assert page.locator(".hw-data tbody tr").count() == 12
    assert page.locator(".hw-data tbody td").first.inner_text() == "1"


KERNEL = """async state => {
  const { default: view } = await import('/kernel.mjs');
  const handlers = {};
  const set = (key, value) => { state[key] = value; handlers[`change:${key}`]?.(); };
  const on = (event, handler) => { handlers[event] = handler; };
  const model = { get: key => state[key], set, on, save_changes() {} };
  await view.render({ model, el: document.querySelector('#out') });
  model.set('tokens', 64);
}"""


def test_the_module_for_a_kernel_draws_the_same(open_page):
    """The bundle that a widget sends to its front end, on a model that has the widget's traits and nothing else."""
    explorer = batch_explorer()
    html = '<!doctype html><title>Kernel</title><link rel="icon" href="data:,"><div id="out"></div>'
    page = open_page("kernel.html", html=html)
    module = source("explorer")
    page.route("**/kernel.mjs", lambda route: route.fulfill(body=module, content_type="text/javascript"))
    page.evaluate(KERNEL, explorer.state | {"payload": explorer.payload, "markup": explorer.markup})
    explorer.tokens = 64
    page.wait_for_function("says => document.querySelector('.hw-say').textContent === says", arg=explorer.says())
    assert page.locator(".hw-slot svg").count() == 1
    page.locator("select").select_option("wse-3")
    page.wait_for_timeout(400)
    assert "#" not in page.url and page.get_by_role("button", name="Copy link").count() == 0  # a notebook's own address
    assert page.problems == [] and page.foreign == []


def test_a_number_of_a_figure_can_be_reported_by_its_state_or_by_its_caption(open_page):
    form = "https://github.com/owner/name/issues/new?title=Number%3A%20%7Bkey%7D"
    meta = f'<meta name="hw-report" content="{form}">'
    page = open_live(open_page, batch_explorer(), show(flop_by_context()), meta=meta)
    explorer, chart = page.locator(".hw-live").all()
    caption = chart.locator(".hw-caption").inner_text()[:100]
    for figure, key in ((explorer, "hw:batch:v1:tokens=1;"), (chart, caption)):
        link = figure.get_by_role("link", name="Report this number")
        link.evaluate("link => link.addEventListener('click', event => event.preventDefault())")
        link.click()
        assert unquote(link.get_attribute("href")).startswith(f"{unquote(form.split('%7B')[0])}figure {key}")
    bare = open_live(open_page, batch_explorer(), show(flop_by_context()))
    assert bare.get_by_role("link", name="Report this number").count() == 0
