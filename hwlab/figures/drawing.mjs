// What the drawings of matrices share: elements of SVG, words in the hand of the book, a colour for each array.
export const COLOUR = { A: "var(--data-1, #0072b2)", B: "var(--data-2, #00805c)", C: "var(--data-3, #b4558a)" };
export const INK = "var(--ink, #15181d)", SECOND = "var(--ink-2, #4c535f)", EDGE = "var(--edge, #858d9a)";
export const count = (x) => x.toLocaleString("en-US");

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export const words = (x, y, text, attributes = {}) => svg("text", { x, y, "font-size": 15, "font-weight": 500, fill: SECOND, ...attributes }, text);
