// Draws one frame of speculative decoding: a row of letters for each round, and bars of what draft and target give to
// the letter in question and its rivals, with the number drawn. A taken guess is filled, a refused one struck through,
// one dropped behind it pale; the letter that ends a round has a heavy edge.
import { EDGE, INK, SECOND, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const DRAFT = "var(--data-1, #0072b2)", TARGET = "var(--data-2, #00805c)", LEFT = "var(--data-3, #b4558a)";
const WELL = "var(--well, #eceff3)";
const CELL = 24, HIGH = 26, TOP = 50, MOST = 9, ROUNDS = 6; // of the rows, in units of the drawing
const WIDE = MOST * CELL + 34;
const shown = (letter) => (letter === " " ? "_" : letter); // a space would leave an empty cell

function cell(x, y, letter, state) {
  const fill = { taken: TARGET, instead: LEFT, more: TARGET }[state] ?? WELL;
  const ends = state === "instead" || state === "more";
  const group = svg("g", { transform: `translate(${x},${y})` },
    svg("rect", {
      x: 1.5, y: 1.5, width: CELL - 3, height: HIGH - 5, fill, "fill-opacity": fill === WELL ? 1 : 0.35,
      stroke: ends ? INK : state === "taken" ? TARGET : EDGE, "stroke-width": ends ? 2.5 : 1,
      ...(state === "guessed" || state === "dropped" ? { "stroke-dasharray": "3 3" } : {}),
    }),
    words(CELL / 2, 17, shown(letter), { "text-anchor": "middle", "font-weight": 600, fill: state === "dropped" ? SECOND : INK }));
  if (state === "refused") group.append(svg("path", { d: `M4 ${HIGH - 6}L${CELL - 4} 4`, stroke: INK, "stroke-width": 2 }));
  return group;
}

function rows(frame) {
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${TOP + ROUNDS * HIGH + 4}`, "aria-hidden": "true" },
    words(0, 15, "Behind:"), words(54, 15, `…${frame.text.replaceAll(" ", "_")}`, { fill: INK, "font-weight": 600 }),
    words(0, 40, "Rounds, and letters written"));
  frame.rounds.forEach(([guesses, end], round) => {
    const y = TOP + round * HIGH, all = end ? [...guesses, end] : guesses;
    all.forEach(([letter, state], i) => picture.append(cell(i * CELL, y, letter, state)));
    const written = guesses.filter(([, state]) => state === "taken").length + 1;
    if (end) picture.append(words(WIDE, y + 17, `+${written}`, { "text-anchor": "end", "font-weight": 600, fill: INK }));
  });
  return picture;
}

function bars(frame) {
  const wide = 254, left = 44, long = wide - left - 2, row = 25;
  const picture = svg("svg", { viewBox: `0 0 ${wide} 262`, "aria-hidden": "true" });
  const key = (x, label, attributes) => picture.append(svg("rect", { x, y: 4, width: 14, height: 11, ...attributes }), words(x + 19, 15, label));
  key(0, "draft", { fill: "none", stroke: DRAFT, "stroke-width": 2 });
  key(70, "target", { fill: TARGET });
  key(146, "left over", { fill: LEFT });
  if (!frame.bars) {
    picture.append(words(0, 60, "Step to a guess or a verdict to see"), words(0, 80, "what the two models think of it."));
    return picture;
  }
  const { letters, draft, target, left: over } = frame.bars;
  [...letters, "others"].forEach((letter, i) => {
    const y = 26 + i * row, mine = letter === frame.letter;
    picture.append(words(left - 6, y + 15, letter === "others" ? letter : shown(letter), { "text-anchor": "end", "font-weight": mine ? 700 : 500, fill: mine ? INK : SECOND }));
    if (mine) picture.append(svg("rect", { x: left - 20, y, width: 17, height: 20, fill: "none", stroke: INK, "stroke-width": 1.5 }));
    picture.append(svg("path", { d: `M${left} ${y - 1}v${row - 3}`, stroke: EDGE }));
    if (target) picture.append(svg("rect", { x: left, y: y + 10, width: target[i] * long, height: 9, fill: TARGET }));
    if (over) picture.append(svg("rect", { x: left + (target[i] - over[i]) * long, y: y + 10, width: over[i] * long, height: 9, fill: LEFT }));
    if (draft) picture.append(svg("rect", { x: left + 1, y: y + 1, width: Math.max(draft[i] * long - 2, 0), height: 8, fill: "none", stroke: DRAFT, "stroke-width": 1.75 }));
  });
  if (frame.draw) {
    const [drawn, limit] = frame.draw, y = 232, x = (share) => left + share * long;
    picture.append(words(0, y, "Draw"),
      svg("rect", { x: left, y: y - 12, width: long, height: 13, fill: WELL, stroke: EDGE }),
      svg("rect", { x: left, y: y - 12, width: limit * long, height: 13, fill: TARGET, "fill-opacity": 0.35 }),
      svg("path", { d: `M${x(drawn)} ${y - 17}v23`, stroke: INK, "stroke-width": 3 }),
      words(left, y + 24, limit < 1 ? `taken below ${limit.toPrecision(3)}` : "taken, whatever is drawn"));
  }
  return picture;
}

export default machine((slot, frame) => {
  slot.classList.add("hw-rounds");
  slot.replaceChildren(rows(frame), bars(frame));
});
