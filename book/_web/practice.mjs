// Brings the questions of a page to life: guesses, checked answers, choices, memos, functions. The page holds the answers,
// replies and sentences (see _ext/practice.py); progress.mjs keeps what a reader has done.
import { forget, keep, mountProgress, progress, remember } from "./progress.mjs";

// ---- Quantities: the rules of hwlab.specs.quantities, whose table of units is in the page ---------------------------

const NUMBER =
  /^([+-]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|[+-]?\.\d+)(?:[eE]([+-]?\d+)|\s*[×x*·]\s*10\s*(?:\^|\*\*)\s*([+-]?\d+))?\s*([^]*)$/;

/** `text` as {value, base}; or {refusal, fields}, a key of the page's sentences and what to put into it. */
export function readQuantity(text, symbols) {
  text = text.replaceAll("μ", "µ").replaceAll("−", "-").replace(/[\u00a0\u2009\u202f]/g, " ").trim();
  const match = NUMBER.exec(text);
  if (!match) return { refusal: "number" };
  const [, digits, exponent, power] = match;
  const comma = /^,(\d+)/.exec(match[4]);
  if (comma) return { refusal: "comma", fields: { better: `${digits}.${comma[1]}` } };
  const value = Number(`${digits.replaceAll(",", "")}e${exponent ?? power ?? "0"}`);
  if (!(value > 0 && value < Infinity)) return { refusal: value > 0 ? "huge" : "positive" };
  const symbol = match[4].trim().replace(/\s*\/\s*/g, "/");
  if (!symbol) return { value, base: null };
  let unit = symbols[symbol];
  if (!unit) {
    const alike = Object.keys(symbols).filter((known) => known.toLowerCase() === symbol.toLowerCase());
    if (!alike.length) return { refusal: "unknown", fields: { symbol } };
    if (new Set(alike.map((known) => String(symbols[known]))).size > 1)
      return { refusal: "two", fields: { symbol, units: alike.join(" or ") } };
    unit = symbols[alike[0]];
  }
  return { value: value * unit[0], base: unit[1] };
}

/** Judge `text` as hwlab.exercises does: {right, say, fields} or {right, mistake}. */
export function judge(question, text, symbols) {
  const [factor, base] = symbols[question.unit];
  const given = readQuantity(text, symbols);
  if (given.refusal) return { right: false, say: given.refusal, fields: given.fields, refused: true };
  if (given.base !== null && given.base !== base)
    return { right: false, say: "unit", fields: { given: given.base, wanted: question.unit } };
  const close = (value, truth = question.answer) => Math.abs(value / truth - 1) <= question.tolerance;
  const value = given.base === null ? given.value * factor : given.value;
  if (close(value) || (given.base === null && close(given.value)))
    return { right: true, say: "right", fields: { answer: question.shown } };
  const mistake = question.mistakes.findIndex((wrong) => close(value, wrong));
  if (mistake >= 0) return { right: false, mistake };
  const power = Math.round(Math.log10(value / question.answer));
  if (power && close(value / 10 ** power))
    return { right: false, say: power > 0 ? "large" : "small", fields: { factor: plain(10 ** Math.abs(power)) } };
  return { right: false, say: value > question.answer ? "high" : "low" };
}

/** A formatted number with its unit, which is a singular for one, as hwlab.specs.quantities.written has it. */
export function written(number, symbol, symbols) {
  const one = symbol.replace(/s$/, "");
  return `${number} ${number === "1" && String(symbols[one]) === String(symbols[symbol]) ? one : symbol}`;
}

/** A number with `digits` significant digits, whole units kept, as hwlab.formula.number writes it. */
export function plain(value, digits = 3) {
  const options = Math.abs(value) >= 10 ** digits ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: digits };
  return value.toLocaleString("en", options);
}

// ---- Questions -----------------------------------------------------------------------------------------------------

const element = (tag, className, text = "", style = "") => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (style) made.style.cssText = style;
  made.textContent = text;
  return made;
};

export class Page {
  constructor(root) {
    const says = root.querySelector(".hw-says");
    this.symbols = JSON.parse(says.querySelector("script").textContent);
    this.sentences = Object.fromEntries([...says.querySelectorAll("[data-say]")].map((p) => [p.dataset.say, p.textContent]));
  }

  /** The words of that kind. A base unit among the fields, as `given`, is put in words too. */
  fill(kind, fields = {}) {
    const words = { ...fields, given: this.sentences[`base ${fields.given}`] };
    return this.sentences[kind].replace(/\{(\w+)\}/g, (_, name) => words[name]);
  }

  /** The same as a sentence. */
  say(kind, fields) {
    const text = this.fill(kind, fields);
    return /[.!?]$/.test(text) ? text : `${text[0].toUpperCase()}${text.slice(1)}.`;
  }

  /** The words whose names begin with `prefix`, for the modules that know no sentences. */
  words(prefix) {
    const own = Object.entries(this.sentences).filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(own.map(([name, text]) => [name.slice(prefix.length), text]));
  }

  /** Passes on whether something was kept, and says once that nothing is. */
  kept(block, kept) {
    if (kept || this.warned) return;
    this.warned = element("p", "not-kept", this.sentences.unkept);
    this.warned.setAttribute("role", "status");
    within(block, ".reply").after(this.warned);
  }
}

const within = (block, selector) => block.querySelector(selector);
const button = (block, does) => within(block, `[data-does="${does}"]`);

/** Answer a click on the button and Enter in the field alike. */
function onAsk(block, does, ask) {
  button(block, does).addEventListener("click", ask);
  within(block, ".field input")?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); ask(); }
  });
}

function mountPredict(block, question, page) {
  const [factor, base] = page.symbols[question.unit];
  const field = within(block, ".field input"), ruler = within(block, ".ruler"), reply = within(block, ".reply");
  const answer = within(block, "details.answer"), reveal = button(block, "reveal"), skip = button(block, "skip");
  const span = Math.log(question.high / question.low);
  const valueAt = (place) => Number((question.low * Math.exp(span * place)).toPrecision(2));
  const placeOf = (value) => Math.log(value / question.low) / span; // value in the unit of the ruler
  const clamp = (place) => Math.min(1, Math.max(0, place));
  const told = (value, digits) => written(plain(value, digits), question.unit, page.symbols);

  const guess = () => {
    const given = readQuantity(field.value, page.symbols);
    if (given.refusal) return given;
    if (given.base !== null && given.base !== base)
      return { refusal: "unit", fields: { given: given.base, wanted: question.unit } };
    return { value: given.base === null ? given.value : given.value / factor };
  };

  const lay = (open, skipped = false) => {
    field.parentElement.hidden = skipped;
    answer.hidden = !open;
    answer.open = open;
    field.disabled = ruler.disabled = open;
    skip.hidden = open;
    reveal.textContent = page.sentences[skipped ? "after" : open ? "change" : "reveal"];
    reveal.classList.toggle("first", !open);
    block.dataset.open = open ? "yes" : "no";
  };

  const show = (value) => { // value: the guess, or null where it was skipped
    lay(true, value === null);
    const shown = question.shown;
    if (value === null) { reply.replaceChildren(element("p", "", page.say("skipped", { answer: shown }))); return; }
    const truth = question.answer / factor, apart = Math.max(value / truth, truth / value), near = apart <= 1.1;
    const you = told(value);
    const scale = element("div", "guess-scale", "",
      `--decades: ${question.marks.length - 1}; --truth: ${100 * question.place}%; --you: ${100 * clamp(placeOf(value))}%`);
    scale.setAttribute("aria-hidden", "true"); // the sentence below says the same
    const axis = element("span", "axis");
    question.marks.forEach((mark, i) => {
      const last = i === question.marks.length - 1;
      axis.append(element("span", "", mark, last ? "left: auto; right: 0" : `left: ${(100 * i) / (question.marks.length - 1)}%; right: auto`));
    });
    scale.append(axis, element("span", "between"), element("span", "truth", shown), element("span", "you", you));
    const sentence = page.say(near ? "near" : "apart", { guess: you, answer: shown, factor: plain(apart, 2) });
    reply.replaceChildren(scale, element("p", "", sentence));
  };

  ruler.addEventListener("input", () => {
    const value = valueAt(Number(ruler.value));
    field.value = plain(value, 2);
    ruler.setAttribute("aria-valuetext", told(value, 2));
  });
  field.addEventListener("input", () => {
    const given = guess();
    if (!given.refusal) ruler.value = clamp(placeOf(given.value));
    ruler.setAttribute("aria-valuetext", given.refusal ? "" : told(given.value, 2));
  });
  const ask = () => {
    if (answer.open) { // change the guess
      forget(question.id);
      field.focus();
      return;
    }
    const given = field.value.trim() ? guess() : { refusal: "guess" };
    if (given.refusal) {
      reply.replaceChildren(element("p", "", page.say(given.refusal, given.fields)));
      field.focus();
      return;
    }
    page.kept(block, remember(question.id, { state: "guessed", value: field.value, factor: given.value / (question.answer / factor) }));
    reveal.focus(); // the field is closed now, and would drop the focus
  };
  onAsk(block, "reveal", ask);
  skip.addEventListener("click", () => { page.kept(block, remember(question.id, { state: "skipped" })); reveal.focus(); });

  return (record) => {
    if (record?.state === "skipped") { show(null); return; }
    if (record?.value) field.value = record.value;
    const given = record?.value ? guess() : { refusal: "guess" };
    if (given.refusal) { reply.replaceChildren(); lay(false); return; }
    ruler.value = clamp(placeOf(given.value));
    show(given.value);
  };
}

function answered(block, right) {
  const reply = within(block, ".reply");
  reply.dataset.right = right ? "yes" : "no";
  return reply;
}

const replyOf = (block, index) => [...within(block, `[data-reply="${index}"]`).cloneNode(true).childNodes];

function mountNumeric(block, question, page) {
  const field = within(block, ".field input");
  const show = (found) => {
    const words = found.mistake === undefined ? [element("p", "", page.say(found.say, found.fields))] : replyOf(block, found.mistake);
    answered(block, found.right).replaceChildren(...words);
  };
  onAsk(block, "check", () => {
    const found = judge(question, field.value, page.symbols);
    if (found.refused) { show(found); return; }
    const tries = (progress().questions[question.id]?.tries ?? 0) + 1;
    page.kept(block, remember(question.id, { state: found.right ? "right" : "tried", value: field.value, tries }));
  });
  return (record) => {
    if (!record?.value) { within(block, ".reply").replaceChildren(); return; }
    field.value = record.value;
    show(judge(question, record.value, page.symbols));
  };
}

function mountChoice(block, question, page) {
  const radios = [...block.querySelectorAll('.option input[type="radio"]')];
  onAsk(block, "check", () => {
    const chosen = radios.find((radio) => radio.checked);
    if (!chosen) { answered(block, false).replaceChildren(element("p", "", page.say("choose"))); return; }
    const tries = (progress().questions[question.id]?.tries ?? 0) + 1;
    const state = chosen.value === question.answer ? "right" : "tried";
    page.kept(block, remember(question.id, { state, value: chosen.value, tries }));
  });
  return (record) => {
    const chosen = radios.find((radio) => radio.value === record?.value);
    if (!chosen) { within(block, ".reply").replaceChildren(); return; }
    chosen.checked = true;
    answered(block, chosen.value === question.answer).replaceChildren(...replyOf(block, question.options.indexOf(chosen.value)));
  };
}

function mountMemo(block, question, page) {
  const field = within(block, "textarea"), ticks = [...block.querySelectorAll('.rubric input[type="checkbox"]')];
  const count = () => {
    const met = ticks.filter((tick) => tick.checked).length;
    within(block, ".reply").textContent = met ? page.say("rubric", { met, all: ticks.length }) : "";
  };
  const save = () => {
    const met = ticks.map((tick) => tick.checked);
    const state = met.every(Boolean) ? "right" : field.value.trim() || met.some(Boolean) ? "tried" : "draft";
    page.kept(block, remember(question.id, { state, value: field.value, met }));
  };
  field.addEventListener("change", save);
  for (const tick of ticks) tick.addEventListener("change", save);
  return (record) => {
    field.value = record?.value ?? "";
    ticks.forEach((tick, i) => { tick.checked = Boolean(record?.met?.[i]); });
    count();
  };
}

/** Python comes with run.mjs, on pages that have something to run. */
async function mountCode(block, question, page) {
  const { able, mountCode: mount } = await import("./run.mjs");
  if (!able) return null;
  block.dataset.able = "yes";
  return mount(block, question, page.words("code "), {
    read: () => progress().questions[question.id],
    write: (fields) => page.kept(block, remember(question.id, fields)),
    forget: () => forget(question.id),
  });
}

const MOUNTS = { predict: mountPredict, numeric: mountNumeric, choice: mountChoice, memo: mountMemo, code: mountCode };

/** Mounts a question. It follows what is kept of it, which may change in another tab. */
async function mount(block, question, page) {
  const restore = await MOUNTS[question.kind](block, question, page);
  if (!restore) return;
  let shown = null;
  const follow = (kept) => {
    const record = kept.questions[question.id], now = JSON.stringify(record) ?? "";
    if (now !== shown) restore(record);
    shown = now;
  };
  document.addEventListener("hw:progress", ({ detail }) => follow(detail));
  follow(progress());
}

/** A chapter is read when its end has been on the screen. */
function watchEnd(chapter) {
  const end = document.querySelector("article.bd-article > section:last-of-type")?.lastElementChild;
  if (!end || progress().read[chapter]) return;
  const watch = new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    keep((kept) => { kept.read[chapter] ??= new Date().toISOString().slice(0, 10); });
  });
  watch.observe(end);
}

if (document.querySelector(".hw-says")) {
  const page = new Page(document);
  for (const script of document.querySelectorAll('.admonition.block > script[type="application/json"]'))
    mount(script.parentElement, JSON.parse(script.textContent), page);
  const own = document.querySelector(".your-progress");
  if (own) mountProgress(own, page);
  if (document.querySelector(".cell.tag_run-here"))
    import("./run.mjs").then(({ able, mountCells }) => able && mountCells(page.words("cell ")));
}
const chapter = document.querySelector('meta[name="hw-chapter"]')?.content;
if (chapter) watchEnd(chapter);

// Paper shows all that was written, so no text area may hide a part of it
addEventListener("beforeprint", () => {
  for (const area of document.querySelectorAll("textarea")) area.style.minHeight = `${area.scrollHeight}px`;
});
