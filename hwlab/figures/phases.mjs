// Draws one frame of a request. Left, two bars to scale: its tokens and its time, each divided into reading and writing,
// with the two cuts joined; what is done is filled, and the pass in view has a heavy edge. Right, that pass: how busy
// arithmetic and memory are, and what it moves.
import { COLOUR, EDGE, INK, count, svg, words } from "./drawing.mjs";
import { machine } from "./machine.mjs";

const WIDE = 300, HIGH = 34, TOKENS = 46, TIME = 176; // of the drawing: its width, a bar, where the two bars begin
const READ = COLOUR.A, WRITE = COLOUR.C;
const WELL = "var(--well, #eceff3)", BOLD = { "font-weight": 600, fill: INK }, RIGHT = { "text-anchor": "end" };

// A bar from 0 to WIDE, cut at `cut`; `done` of it is filled, and `now` (start, end) has the heavy edge.
function bar(y, cut, done, now) {
  const rect = (from, to, attributes) => svg("rect", { x: from, y, width: Math.max(to - from, 0), height: HIGH, ...attributes });
  const group = svg("g", {}, rect(0, cut, { fill: READ, "fill-opacity": 0.15 }), rect(cut, WIDE, { fill: WRITE, "fill-opacity": 0.15 }),
    rect(0, Math.min(cut, done), { fill: READ, "fill-opacity": 0.75 }), rect(cut, done, { fill: WRITE, "fill-opacity": 0.75 }),
    svg("path", { d: `M${cut} ${y}v${HIGH}`, stroke: INK, "stroke-width": 1.5 }),
    rect(0.5, WIDE - 0.5, { fill: "none", stroke: EDGE }));
  const [from, to] = now, wide = Math.max(to - from, 3); // so that one token of many is seen
  const left = Math.min(Math.max((from + to - wide) / 2, 1), WIDE - 1 - wide);
  group.append(svg("rect", { x: left, y: y - 3, width: wide, height: HIGH + 6, fill: "none", stroke: INK, "stroke-width": 2.5, class: "now" }));
  return group;
}

function request(frame) {
  const { prompt, answer, written } = frame, all = prompt + answer, [reading, total] = frame.times;
  const inTokens = (n) => (n / all) * WIDE, inTime = (s) => (s / total) * WIDE;
  const first = written === 1, cut = [inTokens(prompt), inTime(reading)];
  const tokens = bar(TOKENS, cut[0], inTokens(prompt + written), first ? [0, inTokens(prompt + 1)] : [inTokens(prompt + written - 1), inTokens(prompt + written)]);
  const time = bar(TIME, cut[1], inTime(frame.elapsed), [inTime(frame.elapsed - frame.seconds), inTime(frame.elapsed)]);
  const low = TOKENS + HIGH + 3, high = TIME - 3;
  return svg("svg", { viewBox: `-3 0 ${WIDE + 6} 262`, "aria-hidden": "true" },
    words(0, 16, frame.batch === 1 ? "Tokens" : `Tokens, each of ${frame.batch}`), words(WIDE, 16, `${count(prompt)} read, ${written} of ${answer} written`, { ...RIGHT, ...BOLD }),
    words(0, 36, "read", { fill: INK }), words(WIDE, 36, "written", { fill: INK, ...RIGHT }),
    svg("path", { d: `M0 ${low}L0 ${high}L${cut[1]} ${high}L${cut[0]} ${low}Z`, fill: READ, "fill-opacity": 0.15 }),
    svg("path", { d: `M${WIDE} ${low}L${WIDE} ${high}L${cut[1]} ${high}L${cut[0]} ${low}Z`, fill: WRITE, "fill-opacity": 0.15 }),
    svg("path", { d: `M${cut[0]} ${low}L${cut[1]} ${high}`, stroke: INK, "stroke-width": 1.5 }),
    tokens, time,
    words(0, 234, "Time"), words(WIDE, 234, `${frame.told.elapsed} of ${frame.told.total}`, { ...RIGHT, ...BOLD }),
    words(0, 255, "reading"), words(WIDE, 255, `${frame.told.reading} of it`, { ...RIGHT, ...BOLD }));
}

function pass(frame) {
  const wide = 262, { told } = frame, bound = frame.bound === "memory" ? 1 : 0;
  const meter = (y, name, i) => [words(0, y, name), words(wide, y, `${told.busy[i]}${i === bound ? ", binds" : ""}`, { ...RIGHT, ...BOLD }),
    svg("rect", { x: 0, y: y + 7, width: wide, height: 12, fill: WELL }),
    svg("rect", { x: 0, y: y + 7, width: wide * frame.busy[i], height: 12, fill: INK }),
    svg("rect", { x: 0.75, y: y + 7.75, width: wide - 1.5, height: 10.5, fill: "none", stroke: EDGE, "stroke-width": 1.5 })];
  const line = (y, name, value) => [words(0, y, name), words(wide, y, value, { ...RIGHT, ...BOLD })];
  return svg("svg", { viewBox: `-2 0 ${wide + 4} 262`, "aria-hidden": "true" },
    words(0, 16, frame.kind === "prefill" ? "This pass reads" : "This pass writes", { ...BOLD, fill: frame.kind === "prefill" ? READ : WRITE }),
    words(wide, 16, told.seconds, { ...RIGHT, ...BOLD }),
    ...meter(44, "Arithmetic at work", 0), ...meter(86, "Memory at work", 1),
    ...line(140, "Weights", told.weights), ...line(162, "Cache", told.cache), ...line(184, "Work", told.flop),
    words(0, 232, told.intensity, { "font-size": 34, ...BOLD }), words(0, 255, "FLOP a byte"),
    words(wide, 255, `ridge at ${told.ridge}`, RIGHT));
}

export default machine((slot, frame) => {
  slot.classList.add("hw-phases");
  slot.replaceChildren(request(frame), pass(frame));
});
