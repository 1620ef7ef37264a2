// Writes dist/: everything that a page of the book loads beyond the theme's own files. Run by `npm run build`.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packPython, served } from "./python_build.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const figures = join(root, "hwlab/figures");
const dist = join(here, "dist");
const modules = join(here, "node_modules");

/** Files of `folder` whose name ends in `suffix`, as full paths; a missing folder has none. */
const files = async (folder, suffix) =>
  (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(suffix)).sort().map((name) => join(folder, name));

await mkdir(dist, { recursive: true });
for (const entry of await readdir(dist))
  if (entry !== "pyodide") await rm(join(dist, entry), { recursive: true }); // that is packed once a version

// Latin subsets only: seven files
const FONTS = {
  "barlow-semi-condensed": ["500-normal", "600-normal"],
  "source-serif-4": ["400-normal", "400-italic", "600-normal"],
  "source-code-pro": ["400-normal", "600-normal"],
};
for (const [family, faces] of Object.entries(FONTS))
  for (const face of faces) {
    const name = `${family}-latin-${face}.woff2`;
    await cp(join(modules, "@fontsource", family, "files", name), join(dist, "fonts", name));
  }

// Python for the page, and the wheel of the package as it stands but for the weights of models, which no page runs, and
// modules that need JAX, which say so
const LIGHTER = `
import re, sys, zipfile
from pathlib import Path
wheel = Path(sys.argv[1])
with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(wheel.with_suffix(".part"), "w", zipfile.ZIP_DEFLATED) as lighter:
    for entry in whole.infolist():
        if "/weights/" in entry.filename:
            continue
        source = whole.read(entry)
        if re.search(rb"^(import|from) jax\\b", source, re.MULTILINE):
            name = entry.filename.removesuffix(".py").replace("/", ".")
            source = f'raise ImportError("{name} needs JAX, which does not run in a page: import it in a notebook")\\n'
        lighter.writestr(entry, source, compresslevel=9)
wheel.with_suffix(".part").replace(wheel)
`;
const python = await packPython(dist, join(modules, "pyodide"));
execFileSync("python", ["-m", "hatchling", "build", "--target", "wheel", "--directory", dist], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
const [wheel] = await files(dist, ".whl");
execFileSync("python", ["-c", LIGHTER, wheel]);
python.files.wheel = await served(dist, basename(wheel));
python.version = createHash("sha256").update(JSON.stringify(python) + await readFile(join(here, "python_worker.mjs"))).digest("hex").slice(0, 16);
python.bytes = Object.values(python.files).reduce((sum, [, bytes]) => sum + bytes, 0);

// Styles in one file and one order: names, symbols and the page first, print last, between them what else there is
const sheet = (name) => join(here, "css", `${name}.css`);
const first = ["tokens", "symbols", "icons", "book"].map(sheet);
const between = [...await files(join(here, "css"), ".css"), ...await files(figures, ".css")]
  .filter((path) => ![...first, sheet("print")].includes(path));
const css = [...first, ...between, sheet("print")].map((path) => `@import ${JSON.stringify(path)};`);
await build({
  stdin: { contents: css.join("\n"), resolveDir: here, loader: "css" },
  bundle: true, minify: true, external: ["fonts/*"], outfile: join(dist, "book.css"), logLevel: "warning",
});

// Modules: what stands in this folder and is for a page, and every live element of hwlab that exports a view of itself
const own = (await files(here, ".mjs")).filter((path) => !/(build|typeset)\.mjs$/.test(path));
const live = [];
for (const path of await files(figures, ".mjs"))
  if ((await readFile(path, "utf8")).includes("export default")) live.push(path);
const common = {
  bundle: true, minify: true, format: "esm", target: "es2022", splitting: true, nodePaths: [modules],
  outdir: dist, outExtension: { ".js": ".mjs" }, chunkNames: "part-[name]-[hash]", logLevel: "warning",
  define: { PYTHON: JSON.stringify(python) },
};
await build({ ...common, entryPoints: own, external: ["./live/*", "node:*"] });
if (live.length) await build({ ...common, outdir: join(dist, "live"), entryPoints: live });

await cp(join(here, "icon.svg"), join(dist, "icon.svg"));
await cp(join(here, "card.png"), join(dist, "card.png"));
console.log(`${dist}: ${own.length} page modules, ${live.length} live modules`);
