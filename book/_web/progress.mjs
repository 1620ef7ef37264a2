// What a reader has done, kept in this browser under the key `hw:progress` and nowhere else:
// {version: 1, questions: {id: {state, value, ...}}, read: {chapter: date}}. Every change of it, here or in another tab,
// fires `hw:progress` on document, with the whole as its detail.
const KEY = "hw:progress";
const VERSION = 1;
const LARGEST = 2 ** 20; // characters of a file that is read
const RANKS = ["draft", "skipped", "tried", "guessed", "right"]; // the states, each worth more than those before
const ANSWERED = ["tried", "guessed", "right"];

const empty = () => ({ version: VERSION, questions: {}, read: {} });
let lost = null; // what a browser that keeps nothing would have kept

/** What the reader has done so far. */
export function progress() {
  if (lost) return structuredClone(lost);
  try { return valid(JSON.parse(localStorage.getItem(KEY))) ?? empty(); } catch { return empty(); }
}

const tell = (kept) => document.dispatchEvent(new CustomEvent(KEY, { detail: kept }));

/** Keeps all of `next`; false where this browser keeps nothing, and the page alone remembers. */
function replace(next) {
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
    lost = null;
  } catch { // storage is blocked, or full
    lost = next;
  }
  tell(structuredClone(next));
  return lost === null;
}

/** Changes what is kept: `change` gets it, as it stands now in whichever tab. */
export function keep(change) {
  const kept = progress();
  change(kept);
  return replace(kept);
}

export const remember = (id, fields) => keep((kept) => { kept.questions[id] = { ...kept.questions[id], ...fields }; });
export const forget = (id) => keep((kept) => { delete kept.questions[id]; });

addEventListener("storage", ({ key }) => { if (key === KEY || key === null) tell(progress()); });

/** `found` if it is a record of progress, its unknown parts left out; null if it is none. */
function valid(found) {
  const plain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!plain(found) || found.version !== VERSION || !plain(found.questions) || !plain(found.read)) return null;
  const kept = empty();
  for (const [id, record] of Object.entries(found.questions)) {
    if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(id) || !plain(record) || !RANKS.includes(record.state)) return null;
    if (!["string", "undefined"].includes(typeof record.value)) return null;
    kept.questions[id] = record;
  }
  for (const [chapter, date] of Object.entries(found.read)) {
    if (!/^\d{1,2}$/.test(chapter) || typeof date !== "string" || !/^\d{4}-\d\d-\d\d$/.test(date)) return null;
    kept.read[chapter] = date;
  }
  return kept;
}

/** The progress in the text of a file: {kept}; or {refusal, fields}, a key of the page's sentences. */
export function readFile(text) {
  if (text.length > LARGEST) return { refusal: "file-large" };
  let found;
  try { found = JSON.parse(text); } catch { return { refusal: "file-json" }; }
  if (Number.isInteger(found?.version) && found.version !== VERSION)
    return { refusal: "file-version", fields: { version: found.version } };
  const kept = valid(found);
  return kept ? { kept } : { refusal: "file-other" };
}

/** Two records as one: the better answer to each question, the earlier day of each chapter. */
export function merged(ours, theirs) {
  const rank = (record) => RANKS.indexOf(record?.state);
  const both = structuredClone(ours);
  for (const [id, record] of Object.entries(theirs.questions))
    if (rank(record) > rank(both.questions[id])) both.questions[id] = record;
  for (const [chapter, date] of Object.entries(theirs.read))
    if (!(both.read[chapter] <= date)) both.read[chapter] = date;
  return both;
}

/** How many of the questions `ids` are answered, in what is kept. */
export const answered = (kept, ids) => ids.filter((id) => ANSWERED.includes(kept.questions[id]?.state)).length;

/** The page "Your progress": a row a chapter, and what is kept as a file, from a file, or no more. */
export function mountProgress(root, page) {
  const part = (does) => root.querySelector(`[data-does="${does}"]`);
  const told = root.querySelector(".reply"), file = root.querySelector('input[type="file"]'), sure = root.querySelector(".sure");
  const rows = [...root.querySelectorAll("[data-questions]")];
  const say = (kind, fields) => { told.textContent = kind ? page.say(kind, fields) : ""; };
  const show = (kept) => {
    for (const cell of rows) {
      const ids = JSON.parse(cell.dataset.questions), done = answered(kept, ids);
      cell.textContent = page.fill("answered", { done, all: ids.length });
      cell.style.setProperty("--done", `${(100 * done) / ids.length}%`);
      const date = kept.read[cell.dataset.chapter];
      cell.closest("tr").querySelector(".when").textContent = date ?? "";
    }
    const none = !Object.keys(kept.questions).length && !Object.keys(kept.read).length;
    part("save").disabled = part("delete").disabled = none;
  };
  const take = (next, kind, fields) => say(replace(next) ? kind : "unkept", fields);

  part("save").addEventListener("click", () => {
    const text = `${JSON.stringify(progress(), null, 1)}\n`;
    const link = Object.assign(document.createElement("a"), {
      href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "silicon-to-token-progress.json",
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say("saved");
  });
  part("open").addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const found = chosen.size > LARGEST ? { refusal: "file-large" } : readFile(await chosen.text());
    file.value = "";
    if (found.refusal) say(found.refusal, found.fields);
    else take(merged(progress(), found.kept), "merged", { count: Object.keys(found.kept.questions).length });
  });

  let before = null;
  const ask = (asking) => {
    sure.hidden = !asking;
    part("delete").hidden = asking;
    part(asking ? "keep" : "delete").focus();
  };
  part("delete").addEventListener("click", () => { say(); ask(true); });
  part("keep").addEventListener("click", () => ask(false));
  part("sure").addEventListener("click", () => {
    before = progress();
    ask(false);
    take(empty(), "deleted");
    part("undo").hidden = false;
    part("undo").focus();
  });
  part("undo").addEventListener("click", () => {
    take(merged(progress(), before), "undone");
    part("undo").hidden = true;
    part("save").focus();
  });

  document.addEventListener(KEY, ({ detail }) => show(detail));
  show(progress());
}
