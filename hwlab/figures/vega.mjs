// How a picture is drawn in the page: a compiled Vega specification, as SVG, as wide as its place.
import { View, parse } from "vega";

/** Draws `spec` in `place` and resolves to its Vega view. */
export async function draw(place, spec) {
  const view = new View(parse(spec), { container: place, renderer: "svg", hover: false });
  await view.runAsync();
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // like the static picture: its place says what it shows
  return view;
}
