// Draws a chart as wide as its place.
import { element, fonts, onWidth, report } from "./controls.mjs";
import { draw } from "./vega.mjs";

async function render({ model, el }) {
  const slot = el.querySelector(".hw-slot"), { spec } = model.get("payload");
  await fonts();
  const place = element("div");
  slot.replaceChildren(place);
  const view = await draw(place, spec);
  const fit = (width) => "autosize" in spec && view.width(width).runAsync();
  if (slot.clientWidth) await fit(slot.clientWidth);
  el.view = view;
  const stop = onWidth(slot, fit);
  const wrong = report(() => el.querySelector(".hw-caption").textContent.slice(0, 100)); // a chart has no address
  if (wrong) el.querySelector(".hw-more").append(wrong);
  return () => { stop(); view.finalize(); };
}

export default { render };
