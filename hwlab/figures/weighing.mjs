// Draws one frame of the weighing: a row for each layer, a column for each token, a block as high as what is kept of it
// (keys below, values above, or one latent); dashed where it was dropped, with a heavy edge where it is new. Beside it bars.
import { COLOUR, EDGE, INK, count, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const LEFT = 58, WIDE = 262, HIGH = 44, APART = 12, TOP = 24; // of the names of layers; of all tokens; of a row; between rows; above
const KEY = COLOUR.A, VALUE = COLOUR.B, LATENT = COLOUR.C, THIN = 3; // heads are told apart where they are as high as that

function block(x, base, wide, frame, isNew) {
  const high = frame.share * HIGH, heads = frame.kv_heads;
  const group = svg("g", {});
  const part = (y, height, fill) => group.append(svg("rect", { x, y, width: wide, height, fill, "fill-opacity": 0.75 }));
  if (frame.latent) part(base - high, high, LATENT);
  else {
    part(base - high / 2, high / 2, KEY);
    part(base - high, high / 2, VALUE);
    for (let i = 1; i < 2 * heads && high / (2 * heads) >= THIN; i++) {
      group.append(svg("path", { d: `M${x} ${base - (i * high) / (2 * heads)}h${wide}`, stroke: "var(--panel, #fff)", "stroke-width": 1 }));
    }
  }
  group.append(svg("rect", { x, y: base - high, width: wide, height: high, fill: "none", stroke: isNew ? INK : EDGE, "stroke-width": isNew ? 2 : 0.75 }));
  return group;
}

function layers(frame) {
  const step = WIDE / frame.tokens, wide = Math.min(step - 2, 20), rows = frame.layers.length;
  const picture = svg("svg", { viewBox: `0 0 ${LEFT + WIDE + 4} ${TOP + rows * (HIGH + APART) + 20}`, "aria-hidden": "true" },
    words(0, 15, frame.latent ? "Latents" : "Values over keys", { "font-weight": 600, fill: frame.latent ? LATENT : VALUE }),
    words(LEFT + WIDE, 15, `${frame.heads} queries, ${frame.latent ? "1 latent" : `${frame.kv_heads} ${frame.kv_heads > 1 ? "heads" : "head"}`}`, { "text-anchor": "end" }));
  frame.layers.forEach(([first, end], i) => {
    const base = TOP + (i + 1) * (HIGH + APART) - 4, high = frame.share * HIGH;
    picture.append(words(0, base - 4, `Layer ${i + 1}`), svg("path", { d: `M${LEFT} ${base}h${WIDE}`, stroke: EDGE }));
    for (let token = 0; token < end; token++) {
      const x = LEFT + token * step + 1;
      if (token < first) picture.append(svg("rect", { x, y: base - high, width: wide, height: high, fill: "none", stroke: EDGE, "stroke-dasharray": "2 2" }));
      else picture.append(block(x, base, wide, frame, frame.new.includes(i) && token === end - 1));
    }
  });
  picture.append(words(LEFT, TOP + rows * (HIGH + APART) + 14, "Token 1"),
    words(LEFT + WIDE, TOP + rows * (HIGH + APART) + 14, String(frame.tokens), { "text-anchor": "end" }));
  return picture;
}

function bars(frame) {
  const width = 250, scale = (width - 2) / frame.most;
  const right = { "text-anchor": "end", "font-weight": 600, fill: INK };
  return svg("svg", { viewBox: `0 0 ${width} 118`, "aria-hidden": "true" },
    words(0, 16, "Kept so far"), words(width, 16, `${count(frame.bytes)} B`, right),
    svg("rect", { x: 1, y: 24, width: Math.max(frame.bytes * scale, 0.5), height: 16, fill: INK }),
    words(0, 70, "A head for each query"), words(width, 70, `${count(frame.plain)} B`, right),
    svg("rect", { x: 1, y: 78, width: frame.plain * scale, height: 16, fill: "none", stroke: EDGE, "stroke-width": 1.5, "stroke-dasharray": "4 4" }),
    svg("path", { d: `M1 104h${width - 2}`, stroke: EDGE }));
}

export default machine((slot, frame) => {
  slot.classList.add("hw-weighing");
  slot.replaceChildren(layers(frame), bars(frame));
});
