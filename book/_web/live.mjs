// Brings each .hw-live element to life when it comes near the viewport: imports the module that it names and runs it,
// by the anywidget contract, on a state that never leaves the page. No kernel, no loader but the browser's own: what a
// widget would ask its kernel, the page's Python answers.
import { python } from "./python.mjs";

/** The part of an anywidget model that needs no kernel. */
export class PageModel {
  #state;
  #handlers = new Map();
  constructor(state) { this.#state = { ...state }; }
  get(key) { return this.#state[key]; }
  set(key, value) {
    if (Object.is(this.#state[key], value)) return;
    this.#state[key] = value;
    this.#fire(`change:${key}`, this, value);
    this.#fire("change", this);
  }
  on(events, handler) {
    for (const event of events.split(" ")) {
      if (!this.#handlers.has(event)) this.#handlers.set(event, new Set());
      this.#handlers.get(event).add(handler);
    }
  }
  off(event, handler) {
    if (event === undefined || event === null) this.#handlers.clear();
    else if (handler) this.#handlers.get(event)?.delete(handler);
    else this.#handlers.delete(event);
  }
  #fire(event, ...given) { for (const handler of [...(this.#handlers.get(event) ?? [])]) handler(...given); }
  /** A message from Python, as a kernel would send it. */
  hear(message) { this.#fire("msg:custom", message); }
  save_changes() {}
  send() {}
}

// --- Machines whose reader makes a scene of their own: see hwlab/figures/own.mjs for the messages ---
let touched = false, useful = false; // the reader has moved something, and something near can use Python
const warm = () => { if (touched && useful) python.warm(); };
for (const event of ["pointerdown", "keydown"])
  document.addEventListener(event, ({ target }) => {
    if (touched || !target.closest?.(".hw-live")) return;
    touched = true;
    warm();
  }, { passive: true });

function attend(model, module) {
  let call = new AbortController();
  python.watch((now) => model.set("python", now));
  model.send = async ({ type, id, values }) => {
    call.abort(); // a question takes the place of the one before
    if (type !== "frames") return;
    const { signal } = call = new AbortController();
    let count = 0;
    const onprogress = (items) => model.hear({ type: "progress", id, count: count += items.length });
    await python.call("frames", { module, values }, { signal, onprogress }).then(
      (frames) => model.hear({ type: "frames", id, frames }),
      (error) => model.hear(error.name === "AbortError" ? { type: "stopped", id } : { type: "refused", id, says: error.message }));
  };
  useful = true;
  warm();
}

const mounted = new Map(); // element -> promise, so that nothing is mounted twice

async function run(el) {
  const start = performance.now();
  const name = el.dataset.module?.replace(/\.mjs$/, "");
  if (!/^[\w-]+$/.test(name ?? "")) throw new Error(`data-module is ${JSON.stringify(el.dataset.module)}, which names no module`);
  const model = new PageModel(JSON.parse(el.querySelector(':scope > script[type="application/json"]').textContent));
  if (model.get("payload").own) attend(model, name);
  const { default: view } = await import(new URL(`./live/${name}.mjs`, import.meta.url));
  await view.initialize?.({ model });
  await view.render({ model, el });
  el.model = model;
  el.dataset.ready = Math.round(performance.now() - start);
}

/** Mounts one element, once. What fails is said in its place; the picture that the page came with stays. */
function mount(el) {
  if (!mounted.has(el))
    mounted.set(el, run(el).catch((error) => {
      console.error(error);
      el.dataset.failed = String(error);
      const note = Object.assign(document.createElement("p"), { className: "hw-failed" });
      note.setAttribute("role", "status");
      note.textContent = `This figure could not be brought to life (${error.message}). What you see is its starting state.`;
      el.append(note);
    }));
  return mounted.get(el);
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting) { near.unobserve(target); mount(target); }
}, { rootMargin: "400px" });
document.querySelectorAll(".hw-live").forEach((el) => near.observe(el));

/** A link may carry the state of one element, as #hw:ID:…; that element is mounted at once and shown. */
async function follow() {
  const id = /^#hw:([\w-]+):/.exec(location.hash)?.[1];
  const el = id && document.getElementById(`hw-${id}`);
  if (!el) return;
  await mount(el);
  el.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", follow);
document.addEventListener("click", ({ target }) => { // the same link again changes no address
  if (target.closest?.("a")?.getAttribute("href") === location.hash) follow();
});
follow();

// Paper shows every figure, so none may wait for the scroll
addEventListener("beforeprint", () => document.querySelectorAll(".hw-live").forEach(mount));
