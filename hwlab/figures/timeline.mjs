// Draws one frame of a schedule: a row for each request, a column for each step so far; above it a bar for the time of each
// step. What a cell says is told twice, by its colour and by its height or stroke: waits a thin line, a prompt a full block,
// a token half a block, an idle row an empty box. Beside it the legend and what the schedule has come to.
import { COLOUR, EDGE, INK, SECOND, count, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const LEFT = 24, WIDE = 288, ROW = 18, TOP = 24, BARS = 44, BELOW = 22; // of the drawing, in its own units
const AGAIN = "var(--data-4, #a87200)";
const SAYS = { p: "prompt computed", d: "token written", w: "waits", i: "row idles", e: "makes room", x: "computed again", s: "swapped out" };

/** `seconds` with three digits and its unit. */
const time = (seconds) => (seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`);

/** A run of cells that say `letter`, from `x` on and `width` wide, in a row whose middle is at `y`. */
function run(letter, x, width, y) {
  const box = (height, attributes) => svg("rect", { x, y: y - height / 2, width, height, ...attributes });
  const line = (attributes) => svg("path", { d: `M${x} ${y}h${width}`, stroke: EDGE, "stroke-width": 1.5, ...attributes });
  switch (letter) {
    case "p": return box(14, { fill: COLOUR.A });
    case "x": return box(14, { fill: AGAIN, stroke: INK, "stroke-width": 1 });
    case "d": return box(7, { fill: COLOUR.B });
    case "i": return box(9, { fill: "none", stroke: SECOND, "stroke-width": 1 });
    case "e": return svg("path", { d: `M${x + width / 2} ${y - 8}v16`, stroke: COLOUR.C, "stroke-width": Math.max(3, width) });
    case "s": return line({ "stroke-dasharray": "4 3", stroke: COLOUR.C, "stroke-width": 2.5 });
    default: return line({});
  }
}

const label = (x, y, text, attributes = {}) => words(x, y, text, { "font-size": 15.5, ...attributes }); // legible on a phone

function timeline(frame) {
  const column = WIDE / frame.steps, low = TOP + BARS, end = low + 10 + frame.rows.length * ROW;
  const picture = svg("svg", { viewBox: `0 0 ${LEFT + WIDE + 4} ${end + BELOW}`, "aria-hidden": "true" },
    label(0, 15, `Time of a step, ${time(frame.longest)} at the most`));
  frame.seconds.forEach((seconds, step) => {
    const height = Math.max(1, (BARS * seconds) / frame.longest);
    picture.append(svg("rect", { x: LEFT + step * column, y: low - height, width: Math.max(column - 0.6, 0.6), height, fill: SECOND }));
  });
  frame.rows.forEach(([id, cells], row) => {
    const y = low + 10 + (row + 0.5) * ROW;
    const group = svg("g", { "data-row": id }, label(LEFT - 6, y + 5, String(id), { "text-anchor": "end" }));
    picture.append(group);
    for (let from = 0; from < cells.length;) {
      let to = from + 1;
      while (cells[to] === cells[from]) to++;
      if (cells[from] !== " ") {
        const drawn = run(cells[from], LEFT + from * column, (to - from) * column, y);
        drawn.setAttribute("data-letter", cells[from]);
        group.append(drawn);
      }
      from = to;
    }
  });
  const now = LEFT + frame.seconds.length * column;
  picture.append(svg("path", { d: `M${now} ${low + 4}V${end}`, stroke: INK, "stroke-width": 1.5 }),
    label(LEFT, end + 17, `Step ${frame.seconds.length} of ${frame.steps}`));
  return picture;
}

function legend(frame) {
  const width = 254, there = new Set(frame.rows.flatMap(([, cells]) => [...cells]));
  const said = Object.entries(SAYS).filter(([letter]) => there.has(letter));
  const text = (x, y, text, attributes = {}) => words(x, y, text, { "font-size": 16, ...attributes });
  const totals = frame.totals, [held, blocks] = frame.blocks;
  const lines = [
    ["Tokens written", count(totals.written)],
    ["Rows idle", count(totals.idle)],
    ["Time", time(totals.seconds)],
    ["Longest gap", time(totals.longest_gap_s)],
    ["Blocks held", `${count(held)} of ${count(blocks)}`],
  ];
  const picture = svg("svg", { viewBox: `0 0 ${width} ${24 * (said.length + lines.length) + 8}`, "aria-hidden": "true" });
  said.forEach(([letter, says], i) => {
    const y = 24 * i + 12;
    picture.append(letter === "e" ? run(letter, 12, 3, y) : run(letter, 0, 26, y), text(36, y + 5, says));
  });
  lines.forEach(([name, value], i) => {
    const y = 24 * (said.length + i) + 22;
    picture.append(text(0, y, name), text(width, y, value, { "text-anchor": "end", "font-weight": 600, fill: INK }));
  });
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-schedule");
  slot.replaceChildren(timeline(frame), legend(frame));
});
