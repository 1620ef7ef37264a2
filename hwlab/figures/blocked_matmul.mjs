// Draws one frame of the blocked product: A left, B above, C where their rows and columns meet; bars of the bytes moved.
// A resident tile is filled; one that was just fetched has a heavy edge, one of C just written back a dashed one.
import { COLOUR, EDGE, INK, count, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const WIDE = 264, GAP = 34, TOP = 22, NUMBERS = [112, 148]; // of A beside B; between them; above B; of the figures' corner

function matrix(name, x, y, rows, columns, cell, frame) {
  const group = svg("g", { transform: `translate(${x},${y})` });
  group.append(words(0, -7, name, { "font-weight": 600, fill: COLOUR[name] }));
  const tile = frame.resident[name], stored = name === "C" && frame.stored;
  const box = ([top, bottom, left, right], attributes) =>
    svg("rect", { x: left * cell, y: top * cell, width: (right - left) * cell, height: (bottom - top) * cell, ...attributes });
  if (tile) group.append(box(tile, { fill: COLOUR[name], "fill-opacity": 0.55 }));
  for (let i = 0; i <= rows; i++) group.append(svg("path", { d: `M0 ${i * cell}h${columns * cell}`, stroke: EDGE }));
  for (let j = 0; j <= columns; j++) group.append(svg("path", { d: `M${j * cell} 0v${rows * cell}`, stroke: EDGE }));
  if (stored) group.append(box(stored, { fill: "none", stroke: COLOUR[name], "stroke-width": 3, "stroke-dasharray": "5 4" }));
  if (tile && frame.loaded.includes(name)) group.append(box(tile, { fill: "none", stroke: COLOUR[name], "stroke-width": 4 }));
  return group;
}

function matrices(frame) {
  const [m, k, n] = frame.shape;
  const cell = Math.min(22, WIDE / (k + n), WIDE / (k + m), (WIDE + GAP - NUMBERS[0]) / n); // so that words keep their size
  const left = Math.max(k * cell + GAP, NUMBERS[0]), top = Math.max(k * cell + GAP + TOP, NUMBERS[1]);
  const rate = frame.intensity === null ? "" : frame.intensity.toFixed(2);
  return svg("svg", { viewBox: `-2 0 ${WIDE + GAP + 4} ${top + m * cell + 4}`, "aria-hidden": "true" },
    matrix("B", left, top - GAP - k * cell, k, n, cell, frame), matrix("A", left - GAP - k * cell, top, m, k, cell, frame),
    matrix("C", left, top, m, n, cell, frame),
    words(0, TOP + 32, rate, { "font-size": 40, "font-weight": 600, fill: INK }),
    words(0, TOP + 54, "FLOP a byte"), words(0, TOP + 82, `${count(frame.flop)} FLOP`), words(0, TOP + 102, `${count(frame.bytes)} bytes`));
}

function bars(frame) {
  const width = 250, scale = width / Math.max(frame.naive_bytes, frame.bytes);
  const picture = svg("svg", { viewBox: `-2 0 ${width + 4} 216`, "aria-hidden": "true" }, words(0, 16, "Bytes moved so far"));
  const rows = [["A", frame.read.A, 0, "read"], ["B", frame.read.B, 0, "read"], ["C", frame.read.C, frame.written.C, "read, written"]];
  rows.forEach(([name, read, written, note], i) => {
    const y = 44 + 40 * i;
    picture.append(words(0, y, name, { "font-weight": 600, fill: COLOUR[name] }), words(20, y, note),
      words(width, y, count(read + written), { "text-anchor": "end", "font-weight": 600, fill: INK }),
      svg("rect", { x: 0, y: y + 6, width: read * scale, height: 12, fill: COLOUR[name] }),
      svg("rect", { x: read * scale + 1, y: y + 7, width: Math.max(written * scale - 2, 0), height: 10, fill: "none", stroke: COLOUR[name], "stroke-width": 2 }));
  });
  const y = 172;
  picture.append(words(0, y, "All"), words(width, y, `${count(frame.bytes)} of ${count(frame.naive_bytes)} without tiles`, { "text-anchor": "end", "font-weight": 600, fill: INK }),
    svg("rect", { x: 0.75, y: y + 6.75, width: frame.naive_bytes * scale - 1.5, height: 10.5, fill: "none", stroke: EDGE, "stroke-width": 1.5, "stroke-dasharray": "4 4" }),
    svg("rect", { x: 0, y: y + 6, width: frame.bytes * scale, height: 12, fill: INK }));
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-matmul");
  slot.replaceChildren(matrices(frame), bars(frame));
});
