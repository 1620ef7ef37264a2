// Code of the reader's own, run by the page's Python: the functions of code exercises, and cells to "Run it here".
// practice.mjs loads this on pages that have one or the other.
import { editor } from "./editor.mjs";
import { python } from "./python.mjs";

/** Whether this browser can run Python at all. */
export const able = typeof WebAssembly === "object";

const made = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

/**
 * The buttons of one piece of code. `work(signal)` is called to run it, and its promise is waited for; what it refuses is
 * given to `refused`. Words: run, first (what the run button says before Python is there, with {cost}), stop.
 */
function controls({ words, work, refused }) {
  const go = made("button", { type: "button", className: "go" }), stop = made("button", { type: "button", hidden: true, textContent: words.stop });
  const told = made("span", { className: "told", hidden: true });
  told.setAttribute("aria-hidden", "true"); // the megabytes as they come are for the eye; what came of it is spoken
  let running = null;
  const run = async () => {
    if (running) return;
    running = new AbortController();
    stop.hidden = told.hidden = false;
    go.setAttribute("aria-disabled", "true");
    try {
      await work(running.signal);
    } catch (error) {
      refused(error.name === "AbortError" ? words.stopped : error.message);
    }
    running = null;
    if (document.activeElement === stop) go.focus();
    stop.hidden = told.hidden = true;
    go.removeAttribute("aria-disabled");
  };
  go.addEventListener("click", run);
  stop.addEventListener("click", () => running?.abort());
  python.watch(({ state, says }) => {
    go.textContent = state === "off" || state === "failed" ? words.first.replace("{cost}", python.cost) : words.run;
    told.textContent = says;
  });
  return { go, stop, told, run };
}

// ---- A function to write ---------------------------------------------------------------------------------------------

/** Brings a code exercise to life; `kept` reads and writes what is kept of it: {state, value, tries, says}. */
export function mountCode(block, question, words, kept) {
  const ask = block.querySelector(".ask"), area = ask.querySelector("textarea"), reply = block.querySelector(".reply");
  const printed = block.querySelector(".printed");
  const answer = (says, state, text = "") => {
    reply.dataset.right = state;
    reply.replaceChildren(...(says ? [made("p", { textContent: says })] : []));
    printed.hidden = !text;
    printed.textContent = text;
  };
  let later = 0;
  const panel = controls({
    words,
    async work(signal) {
      const source = area.value;
      clearTimeout(later);
      answer("", "no");
      const found = await python.call("check", { id: question.id, source }, { signal });
      answer(found.says, found.right ? "yes" : "no", found.printed);
      const tries = (kept.read()?.tries ?? 0) + 1;
      kept.write({ state: found.right ? "right" : "tried", value: source, says: found.says, tries });
    },
    refused: (says) => answer(says, "no"),
  });
  const write = editor(area, panel.run);
  const again = made("button", { type: "button", className: "skip", textContent: words.again });
  again.addEventListener("click", () => { write.show(question.stub, true); kept.forget(); answer("", "no"); });
  ask.append(made("div", { className: "buttons" }, panel.go, panel.stop, again), panel.told);
  area.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => kept.write({ state: kept.read()?.state ?? "draft", value: area.value, says: "" }), 400);
  });
  return (record) => {
    write.show(record?.value ?? question.stub);
    if (reply.textContent === (record?.says ?? "")) return; // said already, beside what was printed
    answer(record?.says ?? "", record?.state === "right" ? "yes" : "no");
  };
}

// ---- Cells to run ----------------------------------------------------------------------------------------------------

/** The output of a run, in the elements that the book gives to a notebook's. */
function output({ printed, text, html, error }) {
  const part = (kind, inside) => made("div", { className: `output ${kind}` }, inside);
  const pre = (words) => made("pre", { textContent: words });
  const shown = made("div", { className: "cell_output docutils container own" });
  if (printed) shown.append(part("stream", pre(printed)));
  if (html) {
    const table = part("text_html", "");
    table.innerHTML = html; // from this page's own Python
    shown.append(table);
  } else if (text) shown.append(part("text_plain", pre(text)));
  if (error) shown.append(part("traceback", pre(error)));
  return shown;
}

/** Gives every cell that is tagged for it a button, and an editor when it is pressed. */
export function mountCells(words) {
  const cells = [...document.querySelectorAll(".cell.tag_run-here")].map((cell) => {
    const input = cell.querySelector(".cell_input"), fold = input.closest("details"), original = input.querySelector("pre").textContent.trim();
    return { cell, input, fold, original, output: cell.querySelector(".cell_output"), source: () => original };
  });
  cells.forEach((own, index) => {
    const { cell, input, fold, original } = own;
    const said = made("p", { className: "ran" });
    said.setAttribute("role", "status");
    let shown = null;
    const show = (found) => {
      const next = found && output(found);
      (shown ?? own.output)?.after(...[next].filter(Boolean));
      shown?.remove();
      if (own.output) own.output.hidden = Boolean(next);
      if (next && !own.output) bar.after(next);
      shown = next;
    };
    let write = null;
    const open = () => { // the input becomes a text area
      if (write) return;
      const area = made("textarea", { className: "editor", spellcheck: false, autocomplete: "off", autocapitalize: "off" });
      area.setAttribute("aria-label", words.cell);
      area.setAttribute("aria-describedby", keys.id);
      write = editor(area, panel.run);
      write.show(original);
      input.querySelector("pre").closest("[class*=highlight-]").hidden = true;
      input.append(area);
      if (fold) fold.open = true;
      own.source = () => area.value;
      keys.hidden = again.hidden = false;
    };
    const panel = controls({
      words,
      async work(signal) {
        open();
        said.textContent = "";
        const found = await python.call("run", { cells: cells.slice(0, index + 1).map((each) => each.source()) }, { signal });
        show(found);
        said.textContent = !found.error ? words.ran : found.cell === index + 1 ? words.failed : words.before;
      },
      refused: (says) => { said.textContent = says; },
    });
    const again = made("button", { type: "button", className: "skip", hidden: true, textContent: words.again });
    again.addEventListener("click", () => {
      write.show(original, true);
      show(null);
      said.textContent = "";
      panel.go.focus();
    });
    const keys = made("p", { className: "keys", id: `run-keys-${index}`, hidden: true, textContent: words.keys });
    const bar = made("div", { className: "ask run no-print" },
      made("div", { className: "buttons" }, panel.go, panel.stop, again), panel.told, keys, said);
    (fold ?? input).after(bar);
  });
}
