// What every page does by itself: tells live elements of a switch between light and dark, turns what has been read to
// copper, and shows the definition of a term where it is used.
import { answered } from "./progress.mjs";

const root = document.documentElement;

// --- Light and dark ---
new MutationObserver(() => document.dispatchEvent(new CustomEvent("hw:theme", { detail: { theme: root.dataset.theme } })))
  .observe(root, { attributes: true, attributeFilter: ["data-theme"] });

// --- What has been read and answered: practice.mjs keeps {read: {label: date}, questions: {id: …}} and says when it changes ---
function showProgress({ read = {}, questions = {} } = {}) {
  for (const die of document.querySelectorAll(".wafer a, .chapter-die")) {
    const { label, questions: asked } = die.dataset, ids = asked.split(" ").filter(Boolean);
    const done = answered({ questions }, ids);
    die.classList.toggle("read", label in read && !die.classList.contains("outline"));
    die.style.setProperty("--filled", die.classList.contains("read") ? 1 : done / (ids.length || 1));
    if (!die.ariaLabel) continue;
    die.dataset.name ??= die.ariaLabel;
    const so = label in read ? ", read" : done ? `, ${done} / ${ids.length}` : "";
    die.ariaLabel = die.querySelector(".name").textContent = die.dataset.name + so;
  }
  for (const item of document.querySelectorAll(".chapters .pages li, .bd-links li"))
    item.classList.toggle("read", item.querySelector(".n")?.textContent in read);
}
try { showProgress(JSON.parse(localStorage.getItem("hw:progress")) ?? {}); } catch { /* nothing kept, or a browser that keeps nothing */ }
document.addEventListener("hw:progress", (event) => showProgress(event.detail));

// --- What scrolls sideways is within reach of the keyboard ---
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries)
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
});
document.querySelectorAll('.bd-article pre, .math > mjx-container[display="true"], .pst-scrollable-table-container').forEach((wide) => widths.observe(wide));

// --- Terms: the glossary's own words, on hover, on focus and on the first tap; the second follows. Escape and a tap
// elsewhere close ---
const glossaries = new Map();
const glossary = (address) => {
  if (!glossaries.has(address))
    glossaries.set(address, fetch(address).then((answer) => answer.text()).then((text) => new DOMParser().parseFromString(text, "text/html")));
  return glossaries.get(address);
};

const tip = Object.assign(document.createElement("div"), { className: "term-tip", id: "term-tip", hidden: true });
let owner = null, closing, touched = false;

function hide() {
  owner?.removeAttribute("aria-describedby");
  owner = null;
  tip.hidden = true;
}

async function show(link, tapped = false) {
  clearTimeout(closing);
  if (owner === link) return;
  hide();
  owner = link;
  const url = new URL(link.href);
  const id = decodeURIComponent(url.hash.slice(1));
  url.hash = "";
  const page = await glossary(url.href).catch(() => null);
  let definition = page?.getElementById(id)?.nextElementSibling;
  while (definition?.tagName === "DT") definition = definition.nextElementSibling; // a term may have several names
  if (owner !== link) return;
  if (definition?.tagName !== "DD") {
    owner = null;
    if (tapped) location.assign(link.href);
    return;
  }
  tip.replaceChildren(...[...definition.cloneNode(true).childNodes]);
  for (const inner of tip.querySelectorAll("[id]")) inner.removeAttribute("id");
  for (const inner of tip.querySelectorAll("a")) inner.replaceWith(...inner.childNodes);
  tip.setAttribute("role", tapped ? "note" : "tooltip"); // a tooltip holds no link
  if (tapped) {
    const entry = Object.assign(document.createElement("a"), { href: link.href, textContent: page.querySelector("h1").firstChild.textContent });
    tip.append(Object.assign(document.createElement("p"), { className: "entry" }));
    tip.lastChild.append(entry);
  }
  document.querySelector("main").append(tip);
  tip.hidden = false;
  link.setAttribute("aria-describedby", tip.id);
  place();
}

function place() {
  if (tip.hidden) return;
  tip.style.left = tip.style.top = 0; // where it is as wide as it likes
  const [at] = owner.getClientRects(), width = tip.offsetWidth;
  if (!at) { hide(); return; } // a term that this width does not show
  const below = at.bottom + tip.offsetHeight + 12 < innerHeight || at.top < tip.offsetHeight + 12;
  tip.style.left = `${scrollX + Math.max(8, Math.min(at.left, root.clientWidth - width - 8))}px`;
  tip.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - tip.offsetHeight - 6)}px`;
}

const leave = () => { clearTimeout(closing); closing = setTimeout(hide, 200); }; // long enough to reach the tip
for (const link of document.querySelectorAll("a.term")) {
  link.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(link));
  link.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave());
  link.addEventListener("click", (event) => {
    if (!touched || owner === link) return;
    event.preventDefault();
    show(link, true);
  });
  link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
  link.addEventListener("blur", leave);
}
tip.addEventListener("pointerenter", () => clearTimeout(closing));
tip.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave());
tip.addEventListener("focusin", () => clearTimeout(closing));
addEventListener("pointerdown", ({ pointerType, target }) => {
  touched = pointerType !== "mouse";
  if (touched && !tip.contains(target) && !owner?.contains(target)) hide();
  else if (touched) clearTimeout(closing);
}, true);
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
addEventListener("resize", place);
