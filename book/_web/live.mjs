// Brings each .hw-live element to life when it comes near the viewport: imports the module that it names and runs it,
// by the anywidget contract, on a state that never leaves the page. No kernel, no loader but the browser's own.

/** The part of an anywidget model that needs no kernel. */
export class PageModel {
  #state;
  #handlers = new Map();
  constructor(state) { this.#state = { ...state }; }
  get(key) { return this.#state[key]; }
  set(key, value) {
    if (Object.is(this.#state[key], value)) return;
    this.#state[key] = value;
    this.#fire(`change:${key}`, value);
    this.#fire("change");
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
  #fire(event, value) { for (const handler of [...(this.#handlers.get(event) ?? [])]) handler(this, value); }
  save_changes() {}
  send() {}
}

const mounted = new Map(); // element -> promise, so that nothing is mounted twice

async function run(el) {
  const start = performance.now();
  const name = el.dataset.module?.replace(/\.mjs$/, "");
  if (!/^[\w-]+$/.test(name ?? "")) throw new Error(`data-module is ${JSON.stringify(el.dataset.module)}, which names no module`);
  const model = new PageModel(JSON.parse(el.querySelector(':scope > script[type="application/json"]').textContent));
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
follow();

// Paper shows every figure, so none may wait for the scroll
addEventListener("beforeprint", () => document.querySelectorAll(".hw-live").forEach(mount));
