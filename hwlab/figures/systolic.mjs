// Draws one frame of a systolic array: the units with what passes (upper left), what stays (upper right) and the sum
// (below); the values about to enter from the left and from above; what leaves below; the product so far.
// A unit that multiplies is filled and has a heavy edge; one that only pads is struck through.
import { COLOUR, EDGE, INK, SECOND, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const WIDE = 300, STEP = 21, AHEAD = 3, HIGH = 42, LEAVES = 27, SHAFT = 16; // of the drawing, in its own units
const SMALL = { "font-size": 16, "font-weight": 600, "text-anchor": "middle" };
// Letters and digits need more contrast than areas: the colour of an array, darker by day and lighter by night
const WORD = Object.fromEntries(Object.entries(COLOUR).map(([array, colour]) => [array, `color-mix(in srgb, ${colour} 70%, ${INK})`]));
const WELL = "var(--well, #eceff3)";

function unit(r, c, x, y, width, frame) {
  const { held, passing, falling } = frame.roles, busy = frame.active.some(([row, column]) => row === r && column === c);
  const value = { [held]: frame.held[r][c], [passing]: frame.passing[r][c], [falling]: frame.falling[r][c] };
  const beside = held === "C" ? falling : held, pads = r >= frame.used[0] || c >= frame.used[1];
  const group = svg("g", { class: busy ? "hw-busy" : pads ? "hw-pads" : "hw-idle" },
    svg("rect", { x, y, width, height: HIGH, fill: WELL, stroke: EDGE }));
  if (busy) {
    group.append(svg("rect", { x, y, width, height: HIGH, fill: COLOUR.C, "fill-opacity": 0.2 }),
      svg("rect", { x: x + 1.5, y: y + 1.5, width: width - 3, height: HIGH - 3, fill: "none", stroke: INK, "stroke-width": 2.5 }));
  }
  if (pads) group.append(svg("path", { d: `M${x} ${y + HIGH}L${x + width} ${y}`, stroke: EDGE }));
  const put = (array, left, down) => {
    if (value[array] === null || pads) return;
    group.append(words(x + left * width, y + down, value[array], { ...SMALL, fill: WORD[array] }));
  };
  put(passing, 0.28, 18);
  put(beside, 0.72, 18);
  put("C", 0.5, 36);
  return group;
}

const arrow = (x, y, down) => svg("path", { d: `M${x} ${y}${down ? "v10m-3.5 -4l3.5 4l3.5 -4" : "h10m-4 -3.5l4 3.5l-4 3.5"}`, fill: "none", stroke: SECOND, "stroke-width": 1.5 });

function array(frame) {
  const [rows, columns] = frame.array, start = AHEAD * STEP + SHAFT, width = Math.min(44, (WIDE - start) / columns);
  const { held, passing, falling } = frame.roles, top = 24 + AHEAD * STEP + SHAFT;
  const above = held === "C" ? falling : held; // weights come from above: as they are loaded, or all the time
  const picture = svg("svg", { viewBox: `-2 0 ${WIDE + 4} ${top + rows * HIGH + LEAVES + 4}`, "aria-hidden": "true" },
    words(0, 16, `${passing} enters from the left`, { fill: WORD[passing], "font-weight": 600 }),
    words(WIDE, 16, `${above} from above`, { fill: WORD[above], "font-weight": 600, "text-anchor": "end" }));
  for (let r = 0; r < rows; r++) {
    const y = top + r * HIGH;
    if (r < frame.used[0]) {
      frame.left[r].forEach((value, i) => {
        if (value !== null) picture.append(words((AHEAD - 1 - i + 0.5) * STEP, y + HIGH / 2 + 5, value, { ...SMALL, fill: WORD[passing] }));
      });
      picture.append(arrow(start - SHAFT + 2, y + HIGH / 2, false));
    }
    for (let c = 0; c < columns; c++) picture.append(unit(r, c, start + c * width, y, width, frame));
  }
  for (let c = 0; c < columns; c++) {
    const x = start + (c + 0.5) * width, low = top + rows * HIGH;
    if (c >= frame.used[1]) continue;
    frame.above[c].forEach((value, i) => {
      if (value !== null) picture.append(words(x, top - SHAFT - i * STEP - 3, value, { ...SMALL, fill: WORD[above] }));
    });
    if (frame.above[c].some((value) => value !== null)) picture.append(arrow(x, top - SHAFT + 3, true));
    if (frame.leaving[c] !== null) picture.append(arrow(x, low + 1, true), words(x, low + LEAVES, frame.leaving[c], { ...SMALL, fill: WORD.C }));
  }
  return picture;
}

function product(frame) {
  const [m, , n] = frame.shape, [rows, columns] = frame.array, cell = 31, high = 22, width = 8 * cell, units = rows * columns;
  const right = { "text-anchor": "end", "font-weight": 600, fill: INK };
  const fresh = new Set(frame.fresh.map(String));
  const bar = (y, share) => [svg("rect", { x: 0.75, y: y + 0.75, width: width - 1.5, height: 10.5, fill: "none", stroke: EDGE, "stroke-width": 1.5 }),
    svg("rect", { x: 0, y, width: width * share, height: 12, fill: INK })];
  const picture = svg("svg", { viewBox: `-2 0 ${width + 4} ${136 + m * high + 4}`, "aria-hidden": "true" },
    words(0, 16, "Cycle since the start"), words(width, 16, `${frame.cycle} of ${frame.cycles}`, right),
    words(0, 38, "MACs busy"), words(width, 38, `${frame.active.length} of ${units}`, right), ...bar(45, frame.active.length / units),
    words(0, 80, "Utilisation so far"), words(width, 80, `${(100 * frame.utilization).toFixed(1)} %`, right), ...bar(87, frame.utilization),
    words(0, 128, "C so far", { "font-weight": 600, fill: WORD.C }));
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const x = j * cell, y = 136 + i * high, isFresh = fresh.has(`${i},${j}`);
      picture.append(svg("rect", { x, y, width: cell, height: high, fill: WELL, stroke: EDGE, "stroke-opacity": 0.6 }));
      if (isFresh) picture.append(svg("rect", { x: x + 1, y: y + 1, width: cell - 2, height: high - 2, fill: "none", stroke: COLOUR.C, "stroke-width": 2 }));
      if (frame.product[i][j] !== null) picture.append(words(x + cell / 2, y + 17, frame.product[i][j], { ...SMALL, fill: INK }));
    }
  }
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-systolic");
  slot.replaceChildren(array(frame), product(frame));
});
