// Draws one frame of a cache under a matrix product: A left, B above, C where their rows and columns meet, with the
// lines of each that are in the cache; in the corner the places of the cache, set by set; bars of the misses so far.
// What was just used is outlined; a place whose line was just fetched has a heavy edge.
import { COLOUR, EDGE, INK, SECOND, count, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const ARRAYS = ["A", "B", "C"];
const CORNER = 220, RIGHT = 76, GAP = 14, TOP = 22, BELOW = 26, LARGEST = 18; // of the drawing, in its own units
const ACROSS = 8, WIDE = 22, HIGH = 20, APART = 4; // places in a row, their size, and what lies between two sets

/** The array that `line` belongs to. */
const owner = (line, starts) => ARRAYS.findLast((_, i) => starts[i] <= line);

function matrix(array, x, y, cell, rows, columns, frame) {
  const group = svg("g", { transform: `translate(${x},${y})` });
  const box = (left, top, width, height, attributes) =>
    svg("rect", { x: left * cell, y: top * cell, width: width * cell, height: height * cell, ...attributes });
  group.append(words(0, -7, array, { "font-weight": 600, fill: COLOUR[array] }), box(0, 0, columns, rows, { fill: "var(--well, #eceff3)", stroke: EDGE }));
  const [, , perLine] = frame.cache, start = frame.starts[ARRAYS.indexOf(array)];
  for (const line of frame.lines) {
    if (line < 0 || owner(line, frame.starts) !== array) continue;
    const end = Math.min((line - start + 1) * perLine, rows * columns);
    for (let first = (line - start) * perLine; first < end;) { // a line may run over the end of a row
      const row = Math.floor(first / columns), next = Math.min(end, (row + 1) * columns);
      group.append(box(first - row * columns, row, next - first, 1, { fill: COLOUR[array], "fill-opacity": 0.75 }));
      first = next;
    }
  }
  if (cell >= 8) {
    for (let i = 1; i < rows; i++) group.append(svg("path", { d: `M0 ${i * cell}h${columns * cell}`, stroke: EDGE, "stroke-opacity": 0.6 }));
    for (let j = 1; j < columns; j++) group.append(svg("path", { d: `M${j * cell} 0v${rows * cell}`, stroke: EDGE, "stroke-opacity": 0.6 }));
  }
  const used = frame.touched[array];
  if (used) {
    const [top, bottom, left, right] = used, room = 2;
    group.append(svg("rect", { x: left * cell - room, y: top * cell - room, width: (right - left) * cell + 2 * room, height: (bottom - top) * cell + 2 * room, fill: "none", stroke: INK, "stroke-width": 2 }));
  }
  return group;
}

function places(frame) {
  const [lines, ways] = frame.cache, sets = lines / ways;
  const group = svg("g", {}, words(0, 15, `Cache: ${sets} ${sets > 1 ? "sets" : "set"} of ${ways} ${ways > 1 ? "ways" : "way"}`));
  const fetched = new Set(frame.fetched), outlines = [];
  const x = (column) => column * WIDE + Math.floor(column / ways) * APART + 1;
  const y = (row) => TOP + row * HIGH + Math.floor((row * ACROSS) / Math.max(ways, ACROSS)) * APART + 1;
  frame.lines.forEach((line, place) => {
    const left = x(place % ACROSS), top = y(Math.floor(place / ACROSS));
    group.append(svg("rect", { x: left, y: top, width: WIDE, height: HIGH, fill: "var(--well, #eceff3)", stroke: EDGE, "stroke-opacity": 0.6 }));
    if (place % ways === 0) {
      outlines.push(svg("rect", { x: left, y: top, width: Math.min(ways, ACROSS) * WIDE, height: Math.ceil(ways / ACROSS) * HIGH, fill: "none", stroke: SECOND, "stroke-width": 1.5 }));
    }
    if (line < 0) return;
    const array = owner(line, frame.starts);
    group.append(svg("rect", { x: left, y: top, width: WIDE, height: HIGH, fill: COLOUR[array], "fill-opacity": 0.4 }),
      words(left + WIDE / 2, top + HIGH / 2 + 5, array, { "text-anchor": "middle", "font-weight": 600, fill: INK }));
    if (fetched.has(place)) group.append(svg("rect", { x: left + 2, y: top + 2, width: WIDE - 4, height: HIGH - 4, fill: "none", stroke: COLOUR[array], "stroke-width": 2.5 }));
  });
  group.append(...outlines);
  if (frame.place !== null) {
    const left = x(frame.place % ACROSS), top = y(Math.floor(frame.place / ACROSS));
    group.append(svg("rect", { x: left, y: top, width: WIDE, height: HIGH, fill: "none", stroke: INK, "stroke-width": 2 }));
  }
  return group;
}

function memory(frame) {
  const [m, k, n] = frame.shape;
  const cell = Math.min(LARGEST, CORNER / k, RIGHT / n, RIGHT / m);
  const left = CORNER + GAP, low = TOP + CORNER + BELOW;
  return svg("svg", { viewBox: `-3 0 ${left + RIGHT + 6} ${low + m * cell + 4}`, "aria-hidden": "true" },
    places(frame),
    matrix("B", left, TOP + CORNER - k * cell, cell, k, n, frame),
    matrix("A", CORNER - k * cell, low, cell, m, k, frame),
    matrix("C", left, low, cell, m, n, frame));
}

function bars(frame) {
  const width = 254, left = 20, scale = 104 / frame.each;
  const sum = (numbers) => numbers.reduce((a, b) => a + b);
  const text = (x, y, text, attributes = {}) => words(x, y, text, { "font-size": 16, ...attributes });
  const right = { "text-anchor": "end", "font-weight": 600, fill: INK };
  const picture = svg("svg", { viewBox: `0 0 ${width} 156`, "aria-hidden": "true" }, text(0, 16, "Misses so far, of accesses"));
  ARRAYS.forEach((array, i) => {
    const y = 46 + 27 * i, misses = frame.misses[i], accesses = frame.accesses[i];
    picture.append(text(0, y, array, { "font-weight": 600, fill: COLOUR[array] }), text(width, y, `${count(misses)} of ${count(accesses)}`, right),
      svg("rect", { x: left + 0.75, y: y - 10.25, width: Math.max(accesses * scale - 1.5, 0), height: 10.5, fill: "none", stroke: COLOUR[array], "stroke-width": 1.5 }),
      svg("rect", { x: left, y: y - 11, width: misses * scale, height: 12, fill: COLOUR[array] }));
  });
  picture.append(text(0, 127, "All"), text(width, 127, `${count(sum(frame.misses))} of ${count(sum(frame.accesses))}`, right),
    text(0, 149, "Moved"), text(width, 149, `${count(frame.bytes)} bytes`, right));
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-cache");
  slot.replaceChildren(memory(frame), bars(frame));
});
