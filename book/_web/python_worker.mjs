// Python in a worker: fetches Pyodide and the wheel from beside this file, counts the bytes, and carries out calls in
// slices, so that between two of them it can tell the page what came and hear that nobody wants the rest.
import { loadPyodide } from "pyodide";

const SLICE = 0.05; // seconds of Python between two looks at the mailbox
const TYPES = { js: "text/javascript", wasm: "application/wasm", zip: "application/zip" };

let fetched = 0, told = 0, fail;
const failed = new Promise((_, reject) => { fail = reject; });

const count = () => new TransformStream({
  transform(chunk, controller) {
    fetched += chunk.length;
    if (performance.now() > told + 100 || fetched === PYTHON.bytes) {
      told = performance.now();
      postMessage({ fetched });
    }
    controller.enqueue(chunk);
  },
});

/** The body of one of the files. What breaks here breaks the start: Pyodide would wait for ever. */
async function body(name) {
  try {
    const answer = await fetch(new URL(PYTHON.files[name][0], import.meta.url));
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    return answer.body.pipeThrough(count());
  } catch (error) {
    error.message = `${name} could not be fetched (${error.message})`;
    fail(error);
    throw error;
  }
}

async function unpacked(name) {
  const stream = (await body(name)).pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream, { headers: { "Content-Type": TYPES[name.split(".").at(-1)] } });
}

async function start() {
  const wheel = body("wheel").then((stream) => new Response(stream).arrayBuffer());
  const parts = Object.fromEntries(["pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"].map((name) => [name, unpacked(name)]));

  // Pyodide asks for files beside it: it gets the unpacked ones. It only warns when the largest is no good
  const fetchOther = self.fetch, instantiate = WebAssembly.instantiateStreaming;
  self.fetch = (asked, options) => parts[String(asked).split("/").at(-1)] ?? fetchOther(asked, options);
  WebAssembly.instantiateStreaming = (source, imports) => instantiate(source, imports).catch((error) => { fail(error); throw error; });
  const script = URL.createObjectURL(await (await parts["pyodide.asm.js"]).blob());
  await import(script);
  URL.revokeObjectURL(script);

  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href, lockFileContents: PYTHON.lock });
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
    die(error);
  }
};

const die = (error) => postMessage({ fatal: error.message.trim().split("\n").at(-1) }); // of a traceback, what it comes to
page.then(() => postMessage({ ready: true }), die);
