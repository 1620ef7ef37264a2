// Draws one frame of a pager: the blocks of the pool, each with its number, the sequences that hold it and a letter for each
// token; beside it the tables, the free blocks in the order of use, and what the slots of the pool hold.
// A heavy edge marks a block just taken, a heavy dashed one a block just found; what nobody holds and the cache keeps is pale.
import { EDGE, INK, SECOND, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const ACROSS = 4, SLOT = 18, GAP = 9, HEAD = 19, APART = 10; // blocks and slots in a row, sizes in the drawing's own units
const WIDE = ACROSS * SLOT, RIGHT = 262, PER_LINE = 8, LINE = 22;
const WELL = "var(--well, #eceff3)", PANEL = "var(--panel, #fff)";
const OWN = ["--data-1, #0072b2", "--data-2, #008a64", "--data-3, #b4558a", "--data-4, #a87200"].map((value) => `var(${value})`);

/** The colour of a token: of its sequence, or of what all prompts begin with. A letter says the same. */
const colour = (letter) => (letter === "s" ? SECOND : OWN[(letter.charCodeAt(0) - 97) % OWN.length]);

function block(frame, index, x, y) {
  const [, size] = frame.size, rows = Math.ceil(size / ACROSS), kept = frame.kept.includes(index), users = frame.users[index];
  const across = Math.min(size, ACROSS), height = rows * SLOT;
  const group = svg("g", { transform: `translate(${x},${y})` },
    words(0, 14, index, { fill: users ? INK : SECOND, "font-weight": 600 }),
    words(WIDE, 14, users.length > 4 ? `${users.length} users` : users || (kept ? "kept" : ""), { "text-anchor": "end" }));
  [...frame.slots[index].padEnd(size)].forEach((letter, i) => {
    const left = (i % ACROSS) * SLOT, top = HEAD + Math.floor(i / ACROSS) * SLOT;
    group.append(svg("rect", { x: left, y: top, width: SLOT, height: SLOT, fill: letter === " " ? WELL : PANEL, stroke: EDGE, "stroke-opacity": 0.6 }));
    if (letter === " ") return;
    group.append(svg("rect", { x: left, y: top, width: SLOT, height: SLOT, fill: colour(letter), "fill-opacity": kept ? 0.12 : 0.35 }),
      words(left + SLOT / 2, top + SLOT / 2 + 5, letter, { "text-anchor": "middle", "font-weight": 600, fill: INK }));
  });
  const edge = { x: 0, y: HEAD, width: across * SLOT, height, fill: "none" };
  if (frame.taken.includes(index)) group.append(svg("rect", { ...edge, stroke: INK, "stroke-width": 3 }));
  else if (frame.found.includes(index)) group.append(svg("rect", { ...edge, stroke: INK, "stroke-width": 3, "stroke-dasharray": "6 3" }));
  else group.append(svg("rect", { ...edge, stroke: users ? SECOND : EDGE, "stroke-width": users ? 1.5 : 1 }));
  return group;
}

function pool(frame) {
  const [blocks, size] = frame.size, high = HEAD + Math.ceil(size / ACROSS) * SLOT + APART, rows = Math.ceil(blocks / ACROSS);
  const picture = svg("svg", { viewBox: `-3 -3 ${ACROSS * WIDE + (ACROSS - 1) * GAP + 6} ${rows * high + 3}`, "aria-hidden": "true" });
  for (let i = 0; i < blocks; i++) picture.append(block(frame, i, (i % ACROSS) * (WIDE + GAP), Math.floor(i / ACROSS) * high));
  return picture;
}

function tables(frame) {
  const text = (x, y, said, attributes = {}) => words(x, y, said, { "font-size": 16, ...attributes });
  const [tokens, empty, kept, free] = frame.waste, total = tokens + empty + kept + free;
  const bottom = 26 + LINE * (frame.room + 1);
  const picture = svg("svg", { viewBox: `0 0 ${RIGHT} ${bottom + 140}`, "aria-hidden": "true" }, text(0, 16, frame.tables.length ? "Block tables" : "No tables"));
  let y = 16 + LINE;
  for (const [name, length, blocks] of frame.tables) {
    picture.append(text(0, y, name, { "font-weight": 600, fill: INK }), text(18, y, length));
    for (let first = 0; first < blocks.length; first += PER_LINE, y += LINE) {
      picture.append(text(48, y, blocks.slice(first, first + PER_LINE).join(" "), { fill: INK, "font-weight": 600 }));
    }
  }
  const next = frame.order.length ? `${frame.order.slice(0, PER_LINE).join(" ")}${frame.order.length > PER_LINE ? " …" : ""}` : "none";
  picture.append(text(0, bottom, "Next"), text(48, bottom, next, { fill: INK, "font-weight": 600 }));
  let left = 0;
  for (const [slots, fill, opacity] of [[tokens, OWN[0], 1], [empty, OWN[3], 1], [kept, OWN[1], 0.35], [free, WELL, 1]]) {
    const width = (slots / total) * RIGHT;
    picture.append(svg("rect", { x: left, y: bottom + 14, width, height: 14, fill, "fill-opacity": opacity, stroke: EDGE, "stroke-width": 0.75 }));
    left += width;
  }
  const rows = [["tokens", tokens, OWN[0], 1], ["empty in last blocks", empty, OWN[3], 1], ["kept by the cache", kept, OWN[1], 0.35], ["free", free, WELL, 1]];
  rows.forEach(([name, slots, fill, opacity], i) => {
    const line = bottom + 50 + i * LINE;
    picture.append(svg("rect", { x: 0, y: line - 11, width: 12, height: 12, fill, "fill-opacity": opacity, stroke: EDGE, "stroke-width": 0.75 }),
      text(20, line, name), text(RIGHT, line, slots, { "text-anchor": "end", "font-weight": 600, fill: INK }));
  });
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-pager");
  slot.replaceChildren(pool(frame), tables(frame));
});
