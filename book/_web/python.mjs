// The page's Python: one worker a page, started when it is first needed, shared by all that asks. Its entry points are
// the functions of hwlab.page; arguments and answers are plain data.
const PATIENCE = 2000; // ms that a call gets to end by itself before the worker is ended
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const called = () => new DOMException("The call was called off", "AbortError");

class Python {
  /** "off" | "starting" | "ready" | "busy" | "failed" */
  state = "off";
  /** One sentence, when failed. */
  why = "";
  /** What fetching it costs the reader the first time. */
  cost = `${megabytes(PYTHON.bytes)} MB`;
  #says = "Python has not been started";
  #fetched = 0;
  #worker = null;
  #listeners = new Set();
  #waiting = []; // calls, in order
  #running = null;
  #made = 0;

  /** Tells `listener` {state, says, done, of, cost}, now and whenever it changes; returns how to stop. */
  watch(listener) {
    this.#listeners.add(listener);
    listener(this.#now());
    return () => this.#listeners.delete(listener);
  }

  /** Starts in idle time, unless the reader saves data. */
  warm() {
    const { saveData, effectiveType = "4g" } = navigator.connection ?? {};
    if (this.state !== "off" || saveData || effectiveType !== "4g") return;
    (window.requestIdleCallback ?? setTimeout)(() => { if (this.state === "off") this.#start(); });
  }

  /** Calls hwlab.page.`entry`(**args). A generator's items go to `onprogress(items)` as they come, and the promise
   *  resolves to all of them. Rejects with what Python refused, by its own sentence (`name` is the exception's type), or,
   *  when `signal` fires, with an AbortError: what does not end by itself soon is ended with the worker. */
  call(entry, args, { onprogress, signal } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(called());
      const call = { id: ++this.#made, entry, args, items: [], onprogress, resolve, reject };
      signal?.addEventListener("abort", () => this.#abandon(call), { once: true });
      this.#waiting.push(call);
      if (this.#worker) this.#next();
      else this.#start();
    });
  }

  /** Ends the worker and whatever runs in it; the next call starts again. */
  stop() {
    this.#end("off", "Python has been stopped", called());
  }

  #now() {
    return { state: this.state, says: this.#says, done: this.#fetched, of: PYTHON.bytes, cost: this.cost };
  }

  #tell(state, says) {
    this.state = state;
    this.#says = says;
    for (const listener of this.#listeners) listener(this.#now());
  }

  #start() {
    this.why = "";
    this.#fetched = 0;
    if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function")
      return this.#fail("this browser runs no WebAssembly");
    this.#worker = new Worker(new URL(`./python_worker.mjs?${PYTHON.version}`, import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#hear(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(event.message ?? "its worker could not be fetched");
    };
    this.#tell("starting", "Fetching Python");
  }

  #hear({ fetched, ready, fatal, id, slice }) {
    if (fetched) {
      this.#fetched = fetched;
      this.#tell("starting", fetched < PYTHON.bytes ? `Fetching Python: ${megabytes(fetched)} of ${this.cost}` : "Starting Python");
    } else if (ready) {
      this.#tell("ready", "Python is ready");
      this.#next();
    } else if (fatal) this.#fail(fatal);
    else if (id === this.#running?.id) this.#take(JSON.parse(slice));
  }

  #take(answer) {
    const { items = [], done, error } = answer, call = this.#running;
    if (items.length && !call.abandoned) {
      call.items.push(...items);
      call.onprogress?.(items);
    }
    if (!done && !error) return;
    clearTimeout(call.patience);
    this.#running = null;
    if (error) call.reject(Object.assign(new Error(error.says), { name: error.type }));
    else call.resolve("value" in answer ? answer.value : call.items); // after an abort neither does anything
    if (error?.type === "MemoryError") this.#end("off", "Python has been stopped"); // its memory would never shrink again
    else this.#tell("ready", "Python is ready");
    this.#next();
  }

  #next() {
    if (this.state !== "ready" || this.#running || !this.#waiting.length) return;
    this.#running = this.#waiting.shift();
    const { id, entry, args } = this.#running;
    this.#tell("busy", "Python is at work");
    this.#worker.postMessage({ id, entry, args: JSON.stringify(args) });
  }

  #abandon(call) {
    call.reject(called());
    if (call !== this.#running) {
      this.#waiting = this.#waiting.filter((other) => other !== call);
      return;
    }
    call.abandoned = true;
    this.#worker.postMessage({ cancel: call.id });
    call.patience = setTimeout(() => {
      this.#running = null;
      this.#end("off", "Python has been stopped");
    }, PATIENCE);
  }

  #fail(why) {
    this.why = `Python could not run here: ${why}`;
    this.#end("failed", this.why, new Error(this.why));
  }

  /** Ends the worker. Calls are refused with `reason`, or, without one, start it again if any is waiting. */
  #end(state, says, reason) {
    this.#worker?.terminate();
    this.#worker = null;
    clearTimeout(this.#running?.patience);
    const calls = [this.#running, ...this.#waiting];
    this.#running = null;
    if (reason) {
      this.#waiting = [];
      for (const call of calls) call?.reject(reason);
    }
    this.#tell(state, says);
    if (this.#waiting.length) this.#start();
  }
}

export const python = new Python();
