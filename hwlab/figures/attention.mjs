// Draws one frame of attention: queries left, keys above and values below (a token a column), outputs right of the square
// of all scores. What is in fast memory is filled; what was just read has a heavy edge, an output just written a dashed
// one. Beside it the running values of each query in hand, and bars of the bytes moved so far.
import { COLOUR, EDGE, INK, SECOND, count, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const HUE = { q: COLOUR.A, k: COLOUR.B, v: COLOUR.C, out: "var(--data-4, #a87200)" }; // orange, the fourth of the book's order
const NAME = { q: "Q", k: "K", v: "V", out: "Out" };
const WIDE = 292, MARGIN = 22, GAP = 9, TOP = 4, LARGEST = 22; // of the drawing: all of it, the numbers left of Q, between two parts

function part(array, x, y, rows, columns, cell, frame, box, full = null) {
  const group = svg("g", { transform: `translate(${x},${y})`, "data-array": array });
  const rect = ([top, bottom, left, right], attributes) =>
    svg("rect", { x: left * cell, y: top * cell, width: (right - left) * cell, height: (bottom - top) * cell, ...attributes });
  group.append(rect([0, rows, 0, columns], { fill: "var(--well, #eceff3)" }));
  if (full) group.append(rect(full, { fill: HUE[array], "fill-opacity": 0.85 }));
  if (box && frame.held.includes(array)) group.append(rect(box, { fill: HUE[array], "fill-opacity": 0.45, class: "held" }));
  for (let i = 0; i <= rows; i++) group.append(svg("path", { d: `M0 ${i * cell}h${columns * cell}`, stroke: EDGE, "stroke-opacity": 0.7 }));
  for (let j = 0; j <= columns; j++) group.append(svg("path", { d: `M${j * cell} 0v${rows * cell}`, stroke: EDGE, "stroke-opacity": 0.7 }));
  const written = array === "out" && frame.phase === "output";
  if (box && (written || frame.fetched.includes(array))) {
    group.append(rect(box, { fill: "none", stroke: HUE[array], "stroke-width": 3.5, ...(written ? { "stroke-dasharray": "5 4" } : {}) }));
  }
  return group;
}

function square(x, y, cell, frame) {
  const [tall, wide] = frame.shape, [first] = frame.rows, [left] = frame.keys;
  const group = svg("g", { transform: `translate(${x},${y})`, "data-array": "scores" });
  const rect = (i, j, height, width, attributes) => svg("rect", { x: j * cell, y: i * cell, width: width * cell, height: height * cell, ...attributes });
  group.append(rect(0, 0, tall, wide, { fill: "var(--well, #eceff3)" }));
  const [scores, weights] = frame.stored; // rows of them in slow memory
  if (scores) group.append(rect(0, 0, scores, wide, { fill: INK, "fill-opacity": 0.18, class: "stored" }));
  if (weights) group.append(rect(0, 0, weights, wide, { fill: INK, "fill-opacity": 0.18, class: "stored" }));
  const flat = frame.phase === "scores"; // no maximum yet, so no weight
  frame.tile.forEach((row, i) => row.forEach((weight, j) => {
    if (weight === null) {
      const inset = cell * 0.3, X = (left + j) * cell, Y = (first + i) * cell; // a key that this query may not see
      group.append(svg("path", { d: `M${X + inset} ${Y + inset}L${X + cell - inset} ${Y + cell - inset}M${X + cell - inset} ${Y + inset}L${X + inset} ${Y + cell - inset}`, stroke: SECOND, "stroke-width": 1.5 }));
    } else {
      group.append(rect(first + i, left + j, 1, 1, { fill: INK, "fill-opacity": flat ? 0.3 : 0.08 + 0.82 * weight, class: "tile" }));
    }
  }));
  for (let i = 0; i <= tall; i++) group.append(svg("path", { d: `M0 ${i * cell}h${wide * cell}`, stroke: EDGE, "stroke-opacity": 0.5 }));
  for (let j = 0; j <= wide; j++) group.append(svg("path", { d: `M${j * cell} 0v${tall * cell}`, stroke: EDGE, "stroke-opacity": 0.5 }));
  if (frame.kernel === "blocks") { // where one block ends and the next begins
    const [high, broad] = frame.blocks;
    for (let i = high; i < tall; i += high) group.append(svg("path", { d: `M0 ${i * cell}h${wide * cell}`, stroke: SECOND, "stroke-width": 1.5 }));
    for (let j = broad; j < wide; j += broad) group.append(svg("path", { d: `M${j * cell} 0v${tall * cell}`, stroke: SECOND, "stroke-width": 1.5 }));
  }
  if (frame.tile.length) group.append(rect(first, left, frame.tile.length, frame.tile[0].length, { fill: "none", stroke: INK, "stroke-width": 2 }));
  return group;
}

function head(frame) {
  const [tall, wide, d] = frame.shape;
  const cell = Math.min(LARGEST, (WIDE - MARGIN - 2 * GAP - 6) / (2 * d + wide), 250 / (2 * d + tall));
  const x = Math.max(MARGIN + d * cell, 40) + GAP, y = TOP + d * cell + GAP; // of the square
  const low = y + tall * cell + GAP, right = x + wide * cell + GAP;
  const [first, end] = frame.rows, [left, last] = frame.keys;
  const name = (array, X, Y, attributes) => words(X, Y, NAME[array], { "font-weight": 600, fill: INK, ...attributes });
  const middle = y + (first + frame.focus + 0.5) * cell + 5;
  return svg("svg", { viewBox: `-3 0 ${WIDE + 6} ${low + d * cell + 6}`, "aria-hidden": "true" },
    part("q", x - GAP - d * cell, y, tall, d, cell, frame, [first, end, 0, d]),
    part("k", x, y - GAP - d * cell, d, wide, cell, frame, last ? [0, d, left, last] : null),
    square(x, y, cell, frame),
    part("v", x, low, d, wide, cell, frame, last ? [0, d, left, last] : null),
    part("out", right, y, tall, d, cell, frame, [first, end, 0, d], [0, frame.done, 0, d]),
    name("k", x - GAP, y - GAP - (d * cell) / 2 + 5, { "text-anchor": "end" }), name("v", x - GAP, low + (d * cell) / 2 + 5, { "text-anchor": "end" }),
    name("q", x - GAP - d * cell - 5, y + 11, { "text-anchor": "end", ...(frame.focus + first ? {} : { opacity: 0 }) }),
    name("out", Math.min(right, WIDE - 24), y - GAP + 1),
    words(x - GAP - d * cell - 5, middle, String(first + frame.focus), { "text-anchor": "end", "font-weight": 600, fill: INK }));
}

const decimals = (value) => (value === null ? "−∞" : value.toFixed(2).replace("-", "−"));

function running(frame) {
  const wide = 262, row = 21, room = frame.kernel === "blocks" ? Math.min(frame.blocks[0], frame.shape[0]) : 1;
  const text = (x, y, what, attributes = {}) => words(x, y, what, { "font-size": 16, ...attributes });
  const right = { "text-anchor": "end" }, columns = [116, 190, wide];
  const below = 50 + room * row;
  const picture = svg("svg", { viewBox: `0 0 ${wide} ${below + 172}`, "aria-hidden": "true" }, text(0, 16, "Query"),
    ...["maximum", "scale", "sum"].map((title, i) => text(columns[i], 16, title, right)));
  const known = frame.kernel === "blocks" || frame.phase !== "scores";
  frame.most.forEach((most, i) => {
    const y = 38 + i * row, own = i === frame.focus ? { "font-weight": 600, fill: INK } : {};
    const scale = frame.kernel === "blocks" && frame.phase === "rescale" ? decimals(frame.factor[i]) : "";
    picture.append(text(0, y, String(frame.rows[0] + i), own));
    if (known) [decimals(most), scale, decimals(frame.total[i])].forEach((value, c) => picture.append(text(columns[c], y, value, { ...right, ...own })));
  });
  const moved = frame.bytes, all = Object.values(moved).reduce((a, b) => a + b);
  const scale = wide / Math.max(frame.naive, all);
  const bars = [["Q and out", moved.q + moved.out, HUE.q], ["K and V", moved.k + moved.v, HUE.k], ["Scores, weights", moved.scores, SECOND]];
  picture.append(svg("path", { d: `M0 ${below - 18}h${wide}`, stroke: EDGE, "stroke-opacity": 0.6 }), text(0, below, "Bytes moved so far"));
  let start = 0;
  bars.forEach(([title, bytes, fill], i) => {
    const y = below + 25 + i * 23;
    picture.append(svg("rect", { x: 0, y: y - 11, width: 12, height: 12, fill }), text(19, y, title), text(wide, y, count(bytes), { ...right, "font-weight": 600, fill: INK }),
      svg("rect", { x: start, y: below + 82, width: bytes * scale, height: 14, fill }));
    start += bytes * scale;
  });
  picture.append(svg("rect", { x: 0.75, y: below + 82.75, width: frame.naive * scale - 1.5, height: 12.5, fill: "none", stroke: EDGE, "stroke-width": 1.5, "stroke-dasharray": "4 4" }),
    text(0, below + 118, `${count(all)} of ${count(frame.naive)} in three kernels`, { "font-weight": 600, fill: INK }),
    text(0, below + 146, "In fast memory"), text(wide, below + 146, `${count(frame.fast)} bytes`, { ...right, "font-weight": 600, fill: INK }));
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-cache");
  slot.replaceChildren(head(frame), running(frame));
});
