// What test_access.py asks of a page. Loaded into it as window.access; every function returns plain data, and what it
// returns in a list is a fault, told so that a person can find it.
window.access = (() => {
  const TARGETS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const name = (el) => `${el.tagName.toLowerCase()}${el.id ? `#${el.id}` : ""}${[...el.classList].map((c) => `.${c}`).join("")} “${(el.textContent || el.getAttribute("aria-label") || "").trim().slice(0, 40)}”`;
  const seen = (el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && el.getClientRects().length > 0
    && !el.closest(".sr, .visually-hidden");
  const all = (selector, root = document) => [...root.querySelectorAll(selector)].filter(seen);
  const targets = () => all(TARGETS).filter((el) => !el.disabled && el.tabIndex >= 0);

  // ---- Colour -------------------------------------------------------------------------------------------------------
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  function rgba(colour) { // any CSS colour as [red, green, blue, alpha], each 0 to 1
    if (!known.has(colour)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      known.set(colour, [...brush.getImageData(0, 0, 1, 1).data].map((part) => part / 255));
    }
    return known.get(colour);
  }
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  function luminance(colour) {
    const [r, g, b] = colour.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }
  function ground(el) { // what an HTML element is painted on
    const layers = [];
    for (let at = el; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), [1, 1, 1, 1]);
  }
  function painted(el, property) {
    const style = getComputedStyle(el);
    const [r, g, b, a] = rgba(style[property]);
    const opacity = Number(style[`${property}Opacity`] ?? 1) * Number(style.opacity);
    return [r, g, b, a * opacity];
  }
  function below(text) { // what a text of a drawing is painted on: its halo, or the shape behind it, or the page
    const style = getComputedStyle(text), page = ground(text.closest("svg").parentElement);
    if (style.paintOrder.startsWith("stroke") && style.stroke !== "none" && parseFloat(style.strokeWidth) >= 3) return over(painted(text, "stroke"), page);
    const box = text.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
    const shapes = text.ownerSVGElement.querySelectorAll("rect, path, circle, polygon");
    let found = page;
    for (const shape of shapes) { // in the order in which they are painted
      if (shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_PRECEDING) break;
      const place = shape.getScreenCTM();
      if (getComputedStyle(shape).fill === "none" || !(place.a * place.d - place.b * place.c)) continue; // scaled to nothing: unpainted
      const at = new DOMPoint(x, y).matrixTransform(place.inverse());
      if (shape.isPointInFill(at)) found = over(painted(shape, "fill"), found);
    }
    return found;
  }

  /** Text that axe leaves open, in drawings and in pseudo-elements, and each colour of code, below 4.5:1; lines and marks
   *  of charts below 3:1. */
  function contrasts() {
    const faults = [];
    let count = 0;
    const judge = (what, ink, paper, least) => {
      count += 1;
      const ratio = contrast(over(ink, paper), paper);
      if (ratio < least) faults.push(`${what}: ${ratio.toFixed(2)}, not ${least}`);
    };
    for (const text of all("svg text")) if (text.textContent.trim()) judge(name(text), painted(text, "fill"), below(text), 4.5);
    for (const el of all("body *")) {
      if (el.closest("svg, mjx-container")) continue;
      for (const part of ["::before", "::after"]) {
        const style = getComputedStyle(el, part);
        if (!/^"[^"]*[\p{L}\p{N}]/u.test(style.content) || style.display === "none") continue;
        judge(`${name(el)}${part}`, rgba(style.color), over(rgba(style.backgroundColor), ground(el)), 4.5);
      }
    }
    const told = new Set(); // of code axe sees a quarter in each view
    for (const token of all(".highlight span[class]")) {
      const [ink, paper] = [getComputedStyle(token).color, ground(token)];
      if (told.size === told.add(`${ink} ${paper}`).size) continue;
      judge(name(token), over(rgba(ink), paper), paper, 4.5);
    }
    const marks = ".hw-slot :is(.mark-line path, .mark-rule line, .mark-symbol path, .mark-rect path)";
    for (const mark of all(marks)) {
      if (mark.closest(".role-axis-grid, .role-axis-tick, .role-axis-domain, .background")) continue;
      const paper = ground(mark.closest("svg").parentElement), style = getComputedStyle(mark);
      const inks = ["stroke", "fill"].filter((kind) => style[kind] !== "none").map((kind) => painted(mark, kind));
      if (inks.length) judge(`${name(mark)} in ${name(mark.closest(".hw-live"))}`, inks.sort((a, b) => contrast(over(b, paper), paper) - contrast(over(a, paper), paper))[0], paper, 3);
    }
    return { count, faults };
  }

  // ---- Reach --------------------------------------------------------------------------------------------------------
  /** The indicator of the focused element, or what is wrong with it. Sliders, dies and the radio buttons of the
   *  catalogue show it on a part or a neighbour, which pixels have to tell. */
  const elsewhere = (el) => el.matches("input[type=range], .wafer a, .filter input[type=radio]");
  function indicator(el = document.activeElement) {
    if (elsewhere(el)) return null;
    const style = getComputedStyle(el);
    if (style.outlineStyle === "auto") return null; // the browser's own ring, in two tones
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return `${name(el)}: no outline`;
    const inside = parseFloat(style.outlineOffset) < 0;
    const ratio = contrast(rgba(style.outlineColor), ground(inside ? el : el.parentElement));
    return ratio < 3 ? `${name(el)}: outline of ${ratio.toFixed(2)}` : null;
  }
  /** Gives each target the focus in turn. Press a key first: then the browser shows it as for the keyboard. */
  function focusAll() {
    const faults = [];
    for (const el of targets()) {
      el.focus({ preventScroll: true });
      if (document.activeElement !== el) faults.push(`${name(el)}: takes no focus`);
      else faults.push(indicator());
    }
    document.activeElement.blur();
    return faults.filter(Boolean);
  }

  const inSentence = (el) => {
    if (getComputedStyle(el).display !== "inline") return false;
    const block = el.closest("p, li, dd, dt, td, th, figcaption, caption, .spec-note, .term-tip");
    return block && block.textContent.trim().length > el.textContent.trim().length;
  };
  const box = (el) => { // with the label, which can be pressed too
    const parts = el.matches("summary") ? [el, ...el.children] : [el, ...(el.labels ?? [])];
    const rects = parts.filter(seen).map((one) => one.getBoundingClientRect());
    const [left, top] = [Math.min(...rects.map((r) => r.left)), Math.min(...rects.map((r) => r.top))];
    const [right, bottom] = [Math.max(...rects.map((r) => r.right)), Math.max(...rects.map((r) => r.bottom))];
    return { left, top, right, bottom, width: right - left, height: bottom - top };
  };
  /** Targets under 24 px whose circle of 24 px meets another target (WCAG 2.5.8), and controls of ours under 44 px. */
  function sizes() {
    const found = targets().filter((el) => !inSentence(el)).map((el) => [el, box(el)]);
    const small = ([, { width, height }]) => width < 23.5 || height < 23.5;
    const centre = ({ left, right, top, bottom }) => [(left + right) / 2, (top + bottom) / 2];
    const away = ([x, y], { left, right, top, bottom }) => Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    const faults = [];
    for (const one of found) {
      const [el, area] = one;
      if (small(one)) {
        const [x, y] = centre(area);
        for (const [other, room] of found) {
          if (other === el || other.contains(el) || el.contains(other)) continue;
          const [X, Y] = centre(room);
          const meets = small([other, room]) ? Math.hypot(X - x, Y - y) < 24 : away([x, y], room) < 12;
          if (meets) { faults.push(`${name(el)}: ${area.width.toFixed(0)} × ${area.height.toFixed(0)} beside ${name(other)}`); break; }
        }
      }
      const ours = el.matches(":is(.bd-article, .bd-header-article) :is(button, select, textarea, input, summary), .door");
      const least = el.matches(".copybtn") ? 24 : 44;
      if (ours && Math.max(area.height, area.width) < 43.5 || ours && area.height < least - 0.5) faults.push(`${name(el)}: ${area.width.toFixed(0)} × ${area.height.toFixed(0)}, not ${least}`);
    }
    return { count: found.length, faults };
  }

  // ---- Room ---------------------------------------------------------------------------------------------------------
  /** Widths at which the page's own rules change, from its style sheets. */
  function breakpoints() {
    const widths = new Set();
    const read = (rules) => {
      for (const rule of rules) {
        for (const [, width] of (rule.media?.mediaText ?? "").matchAll(/([\d.]+)px/g)) widths.add(Math.ceil(Number(width)));
        if (rule.cssRules) read(rule.cssRules);
      }
    };
    for (const sheet of document.styleSheets) read(sheet.cssRules);
    return [...widths].sort((a, b) => a - b);
  }
  /** What sticks out to the right, the innermost elements first to blame. */
  function overflow() {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const out = all("body *").filter((el) => el.getBoundingClientRect().right > root.clientWidth + 0.5 && !el.closest(".pst-scrollable-table-container, pre, mjx-container"));
    return [`${root.scrollWidth} in ${root.clientWidth}`, ...out.filter((el) => !out.some((other) => other !== el && el.contains(other))).slice(0, 3).map(name)];
  }
  /** Text cut off by its box. */
  function cut() {
    const faults = [];
    for (const el of all(":is(.bd-article, .bd-sidebar-primary, .bd-header-article) *")) {
      if (el.closest("svg, .math, .copybtn") || !el.textContent.trim()) continue;
      const style = getComputedStyle(el), hides = /hidden|clip/;
      const wide = el.scrollWidth > el.clientWidth + 1 && (hides.test(style.overflowX) || el.matches("button, summary, .verdict"));
      const high = el.scrollHeight > el.clientHeight + 1 && hides.test(style.overflowY) && !/auto|scroll/.test(style.overflowX);
      if (el.clientWidth && (wide || high)) faults.push(`${name(el)}: ${el.scrollWidth} × ${el.scrollHeight} in ${el.clientWidth} × ${el.clientHeight}`);
    }
    return faults;
  }
  /** What scrolls and cannot be scrolled by keyboard. */
  function unreachable() {
    const scrolls = (el) => /auto|scroll/.test(getComputedStyle(el).overflowX) && el.scrollWidth > el.clientWidth + 1;
    return all(".bd-article *").filter((el) => scrolls(el) && el.tabIndex < 0 && !all(TARGETS, el).length).map(name);
  }

  // ---- The rest -----------------------------------------------------------------------------------------------------
  /** Levels of the headings, without those that the theme repeats for print. */
  function headings() {
    const found = (document.querySelector(".bd-main, main") ?? document).querySelectorAll("h1, h2, h3, h4, h5, h6");
    return [...found].filter((heading) => !heading.closest("#jb-print-docs-body")).map((heading) => Number(heading.tagName[1]));
  }
  /** Pictures without a name, a sentence or a table; each live element has all three. */
  function pictures() {
    const faults = [];
    const figures = [...document.querySelectorAll(".hw-live")];
    for (const figure of figures) {
      const slot = figure.querySelector(".hw-slot");
      const label = slot.getAttribute("aria-label") ?? document.getElementById(slot.getAttribute("aria-labelledby"))?.textContent;
      if (slot.getAttribute("role") !== "img" || !(label?.trim().length > 20)) faults.push(`${name(figure)}: named ${label}`);
      if (!figure.querySelector(".hw-say, .hw-caption")?.textContent.trim()) faults.push(`${name(figure)}: no sentence`);
      if (!figure.querySelectorAll(".hw-data tbody tr").length) faults.push(`${name(figure)}: no data`);
    }
    for (const svg of all("svg")) {
      const told = svg.closest("[aria-hidden='true'], [role='img']") || svg.getAttribute("aria-label") || svg.getAttribute("aria-labelledby") || svg.querySelector(":scope > title");
      if (!told) faults.push(`${name(svg)}: neither hidden nor named`);
    }
    return { count: figures.length, faults };
  }
  /** Elements that would move by themselves or glide. */
  function moving() {
    return all("body, body *").filter((el) => {
      const style = getComputedStyle(el);
      return style.transitionDuration.split(",").some((time) => parseFloat(time) > 0) || style.animationName !== "none" || style.scrollBehavior === "smooth";
    }).map(name);
  }

  // ---- States -------------------------------------------------------------------------------------------------------
  function unfold() { for (const details of document.querySelectorAll("details")) details.open = true; }
  /** Takes all but one share in `of` out of long runs of things of one make; `whole` puts them back. */
  const RUNS = [[".chip-table", ":scope > tbody"], ["tbody", ":scope > tr"], ["body", "dl.py:not(dl.py dl.py)"]]; // a class with its methods
  const FOR_AXE = [...RUNS, ["body", "mjx-container"], ["body", ".highlight"]]; // which take most of its time
  const away = [];
  function whole() { for (const [place, item] of away.splice(0).reverse()) place.replaceWith(item); }
  function thin(share, of, runs = RUNS) {
    whole();
    for (const [parent, alike] of runs)
      for (const list of document.querySelectorAll(parent)) {
        const items = [...list.querySelectorAll(alike)];
        if (items.length < 12) continue;
        for (const [i, item] of items.entries()) {
          if (i % of === share) continue;
          const place = document.createComment("");
          item.replaceWith(place);
          away.push([place, item]);
        }
      }
  }
  /** What axe finds in the page, or in all of it but the article. */
  async function axe(share, of, article) {
    thin(share, of, FOR_AXE);
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame); // the page sees what is back
    const { violations } = await window.axe.run(article ? document : { exclude: [".bd-article"] }, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.slice(0, 5).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`));
  }

  return { name, targets, indicator, focusAll, contrasts, sizes, breakpoints, overflow, cut, unreachable, headings, pictures, moving, unfold, thin, whole, axe };
})();
