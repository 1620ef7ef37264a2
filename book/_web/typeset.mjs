// Sets formulas in type when the book is built; book/_ext/formulas.py runs it. Reads [{tex, display}, …] as JSON from the
// standard input and writes {formulas: [{html} or {error}, …], css, fonts} to the standard output: HTML in the order of
// the formulas, one style sheet for what they use, and the font files that it names.
import { transform } from "esbuild";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

const require = createRequire(import.meta.url);
const MathJax = await require("mathjax").init({
  loader: { load: ["adaptors/liteDOM", "input/tex", "output/chtml", "a11y/assistive-mml"], versionWarnings: false },
  tex: { packages: { "[-]": ["noundefined"] }, formatError: (tex, error) => { throw error; } },
  chtml: { mtextInheritFont: true, fontURL: "." },
});
const { adaptor } = MathJax.startup;

// The size of a formula's letters beside the page's; book.css has the same. Words in a formula take the page's font, whose
// widths are not known here: the browser sets them as wide as they are.
const SCALE = 1.075, FAMILY = "var(--text)", WORDS = 0.5;
Object.assign(adaptor.options, { unknownCharWidth: WORDS });

async function typeset({ tex, display }) {
  try {
    const node = await MathJax.tex2chtmlPromise(tex, { display, em: 18, ex: 8.5, scale: SCALE, family: FAMILY });
    adaptor.setStyle(node, "font-size", "");
    for (const words of adaptor.tags(node, "mjx-utext")) adaptor.setStyle(words, "width", "");
    return { html: adaptor.outerHTML(node) };
  } catch (error) {
    return { error: error.message };
  }
}

const formulas = [];
for (const formula of JSON.parse(await text(process.stdin))) formulas.push(await typeset(formula));

// Of MathJax's 22 faces, those that a formula here uses
const zero = require.resolve("mathjax/es5/output/chtml/fonts/woff-v2/MathJax_Zero.woff");
const blank = `data:font/woff;base64,${(await readFile(zero)).toString("base64")}`;
const html = formulas.map((formula) => formula.html ?? "").join("");
const used = new Set(["MJXZERO", "MJXTEX", ...[...html.matchAll(/TEX-\w+/g)].map(([name]) => `MJX${name}`)]);
if (html.includes("<mjx-stretchy")) for (const face of ["S1", "S4", "A"]) used.add(`MJXTEX-${face}`);
const fonts = [];
const sheet = adaptor.textContent(MathJax.chtmlStylesheet())
  .replace(/@font-face[^{]*\{\s*font-family: ([\w-]+);\s*src: url\("\.\/([^"]+)"\)[^}]*\}/g, (face, family, file) => {
    if (!used.has(family)) return "";
    if (family === "MJXZERO") return face.replace(`./${file}`, blank); // heights hang on it: it must not come late
    fonts.push(file);
    return face;
  })
  .replace(/\.(TEX-\w+) \{[^}]*\}/g, (rule, name) => (used.has(`MJX${name}`) ? rule : ""));
const { code: css } = await transform(sheet, { loader: "css", minify: true });
process.stdout.write(JSON.stringify({ formulas, css, fonts }));
