// Draws one frame of the split of a step: a bar for each setting so far, cut into its parts, and the parts of the last one.
import { EDGE, INK, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const HUE = ["var(--data-1, #0072b2)", "var(--data-2, #00805c)", "var(--data-3, #b4558a)", "var(--data-4, #a87200)", "var(--well, #eceff3)"];
const WIDE = 292, ROW = 46, BAR = 16;

function bar(group, y, shares, last) {
  let x = 0;
  shares.forEach((share, i) => {
    const width = share * WIDE;
    if (width > 0.05) group.append(svg("rect", { x, y, width: Math.max(width - (width > 4 ? 1.5 : 0), 0.8), height: BAR, fill: HUE[i], "data-part": i, ...(i === 4 ? { stroke: EDGE, "stroke-dasharray": "3 3" } : {}) }));
    x += width;
  });
  if (last) group.append(svg("rect", { x: -2, y: y - 2, width: WIDE + 4, height: BAR + 4, fill: "none", stroke: INK, "stroke-width": 1.5 }));
}

function bars(frame) {
  const right = { "text-anchor": "end", x: WIDE };
  const picture = svg("svg", { viewBox: `-3 0 ${WIDE + 6} ${frame.bars.length * ROW + 2}`, "aria-hidden": "true" });
  frame.bars.forEach((one, i) => {
    const top = i * ROW, last = i === frame.bars.length - 1, strong = last ? { "font-weight": 600, fill: INK } : {};
    picture.append(words(0, top + 16, one.label, strong), words(WIDE, top + 16, `${one.took}, MFU ${(100 * one.mfu).toPrecision(2)} %`, { ...right, ...strong }));
    bar(picture, top + 23, one.shares, last);
  });
  return picture;
}

function parts(frame) {
  const wide = 262, row = 25, text = (x, y, what, attributes = {}) => words(x, y, what, { "font-size": 16, ...attributes });
  const picture = svg("svg", { viewBox: `0 0 ${wide} ${frame.parts.length * row + 6}`, "aria-hidden": "true" });
  frame.parts.forEach(([name, seconds, share], i) => {
    const y = 18 + i * row;
    picture.append(svg("rect", { x: 1, y: y - 12, width: 13, height: 13, fill: HUE[i], ...(i === 4 ? { stroke: EDGE, "stroke-dasharray": "3 3" } : {}) }),
      text(22, y, name), text(190, y, seconds, { "text-anchor": "end" }), text(wide, y, share, { "text-anchor": "end", "font-weight": 600, fill: INK }));
  });
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-cache");
  slot.replaceChildren(bars(frame), parts(frame));
});
