// Packs the Python of the page: what Pyodide starts from, squeezed here, since a plain file server squeezes nothing and a
// page could not tell how far it has come. Run by build.mjs, which builds the wheel of hwlab beside it.
import { loadPyodide } from "pyodide";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

// What Python and hwlab import as they start goes in compiled: two seconds less for every reader, some KB more
const COMPILE = `
import io, sys, zipfile
import importlib._bootstrap_external as external
import _imp, csv, difflib, html, importlib.resources, random, tomllib

def standard_library():
    """The library as an archive without compression (gzip does better over the whole), start-up modules as bytecode."""
    (path,) = [path for path in sys.path if path.endswith(".zip")]
    used = {getattr(module, "__file__", None) for module in sys.modules.values()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as packed:
        for name in sorted(source.namelist(), key=lambda name: (f"{path}/{name}" in used, name)):
            data = source.read(name)
            if f"{path}/{name}" in used:
                code = compile(data, f"{path}/{name}", "exec", dont_inherit=True)
                data = external._code_to_hash_pyc(code, _imp.source_hash(external._RAW_MAGIC_NUMBER, data), False)
                name += "c"
            packed.writestr(zipfile.ZipInfo(name), bytes(data))
    return buffer.getvalue()

standard_library()
`;

/** Where a file of the site is fetched, with a hash so that browsers keep it until it changes, and its bytes. */
export async function served(folder, file) {
  const bytes = await readFile(join(folder, file));
  return [`${file}?${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}`, bytes.length];
}

/** Fills `dist`/pyodide unless it holds this version. Returns {lock, files: {name: [address, bytes]}}. */
export async function packPython(dist, pyodide) {
  const { info } = JSON.parse(await readFile(join(pyodide, "pyodide-lock.json"), "utf8"));
  const { version } = JSON.parse(await readFile(join(pyodide, "package.json"), "utf8"));
  const stamp = join(dist, "pyodide", createHash("sha256").update(version + COMPILE).digest("hex").slice(0, 16));
  if (await readFile(stamp, "utf8").catch(() => null) === null) {
    await rm(join(dist, "pyodide"), { recursive: true, force: true });
    await mkdir(join(dist, "pyodide"));
    const python = await loadPyodide({ indexURL: pyodide, env: { PYTHONHASHSEED: "0" } });
    const contents = {
      "pyodide.asm.js": await readFile(join(pyodide, "pyodide.asm.js")),
      "pyodide.asm.wasm": await readFile(join(pyodide, "pyodide.asm.wasm")),
      "python_stdlib.zip": python.runPython(COMPILE).toJs(),
    };
    for (const [name, bytes] of Object.entries(contents))
      await writeFile(join(dist, "pyodide", `${name}.packed`), gzipSync(bytes, { level: 9 }));
    await writeFile(stamp, "");
  }
  const files = {};
  for (const name of ["pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"])
    files[name] = await served(dist, `pyodide/${name}.packed`);
  return { lock: { info, packages: {} }, files };
}
