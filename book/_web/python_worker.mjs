// Python in a worker: fetches Pyodide and the wheel from beside this file, counts the bytes, and carries out calls in
// slices, so that between two of them it can tell the page what came and hear that nobody wants the rest.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const SLICE = 0.05; // seconds of Python between two looks at the mailbox
const TYPES = { js: "text/javascript", wasm: "application/wasm", zip: "application/zip", whl: "application/zip" };
const plainFetch = self.fetch;
const address = (file) => new URL(file, import.meta.url).href;

let fetched = 0, told = 0, fail;
const failed = new Promise((_, reject) => { fail = reject; });

/** The body of `file`, counted as it comes. Whatever breaks, breaks the start: Pyodide itself would wait for ever. */
async function body(file) {
  let answer;
  try {
    answer = await plainFetch(address(file));
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  } catch (error) {
    error.message = `${file.split("?")[0]}: ${error.message}`;
    fail(error);
    throw error;
  }
  const reader = answer.body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        fetched += value?.length ?? 0;
        if (done || performance.now() > told + 100) {
          told = performance.now();
          postMessage({ fetched });
        }
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        fail(error);
        controller.error(error);
      }
    },
  });
}

/** What Pyodide would fetch as `name`, unpacked. */
const unpacked = async (name) => new Response(
  (await body(`pyodide/${name}.packed`)).pipeThrough(new DecompressionStream("gzip")),
  { headers: { "Content-Type": TYPES[name.split(".").at(-1)] } });

self.fetch = (asked, options) => {
  const file = /\/pyodide\/([\w.]+)$/.exec(String(asked.url ?? asked))?.[1];
  return `pyodide/${file}.packed` in PYTHON.bytes ? unpacked(file) : plainFetch(asked, options);
};

async function start() {
  const wheel = body(PYTHON.wheel).then((stream) => new Response(stream).arrayBuffer());
  const script = URL.createObjectURL(await (await unpacked("pyodide.asm.js")).blob());
  await import(script);
  URL.revokeObjectURL(script);
  const pyodide = await loadPyodide({ indexURL: address("pyodide/"), lockFileContents: PYTHON.lock });
  pyodide.unpackArchive(await wheel, "wheel");
  return pyodide.pyimport("hwlab.page");
}

const page = Promise.race([start(), failed]);
let unwanted = null; // id of the call that nobody waits for any more

/** One turn of the worker's mailbox. */
const turn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

self.onmessage = async ({ data }) => {
  if ("cancel" in data) {
    unwanted = data.cancel;
    return;
  }
  const { id, entry, args } = data;
  try {
    const call = (await page).Call(entry, args);
    for (;;) {
      postMessage({ id, slice: call.advance(SLICE) });
      if (call.done) break;
      await turn();
      if (unwanted !== id) continue;
      call.close();
      postMessage({ id, slice: '{"done": true}' });
      break;
    }
    call.destroy();
  } catch (error) {
    postMessage({ fatal: error.message });
  }
};

page.then(() => postMessage({ ready: true }), (error) => postMessage({ fatal: error.message }));
