// Draws an explorer and follows its controls. The formula, the sentence and every label are expressions that Python
// wrote into the Vega specification; nothing is computed here.
import { address, choice, element, fillLines, fonts, furnish, nearest, onWidth, onceAFrame, say, slider } from "./controls.mjs";
import { draw } from "./vega.mjs";

async function render({ model, el }) {
  const inPage = furnish(el, model);
  const { name, version, controls, lines, columns, spec } = model.get("payload");
  const find = (selector) => el.querySelector(selector);
  const [slot, panel, more, sentence] = [".hw-slot", ".hw-controls", ".hw-more", ".hw-say"].map(find);
  const arithmetic = find(".hw-arithmetic"), data = find(".hw-data");
  const start = Object.fromEntries(controls.map(({ name }) => [name, model.get(name)]));

  await fonts();
  const place = element("div");
  slot.replaceChildren(place);
  const view = await draw(place, spec);
  const fit = (width) => view.width(width).runAsync();
  if (slot.clientWidth) await fit(slot.clientWidth);
  el.view = view;

  const set = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    link.keep();
  };
  const moved = controls.map(({ name, title, stops, options }) => {
    const onset = (value) => set({ [name]: value });
    return { name, stops, ...(stops ? slider({ title, stops, onset }) : choice({ title, options, onset })) };
  });
  const link = address({
    inPage, name, version,
    read: () => Object.fromEntries(controls.map(({ name }) => [name, model.get(name)])),
    write: (values) => { // a link may be old or mistyped: what is out of range stays as it was
      for (const { name, stops, options } of controls) {
        if (!(name in values)) continue;
        const value = stops ? Number(values[name]) : values[name];
        if (stops ? value >= stops[0] && value <= stops.at(-1) : options.some(([key]) => key === value)) model.set(name, value);
      }
      model.save_changes();
    },
  });
  const reset = element("button", { type: "button", class: "hw-link", onclick: () => set(start) }, "Start again");
  panel.replaceChildren(...moved.map(({ node }) => node));
  more.append(element("div", { class: "hw-tools" }, ...link.nodes, reset));

  // the picture can be touched too: a click, or a drag of the mouse, takes the reader's point there
  const [{ name: x, stops: along }] = controls;
  const aim = (event) => {
    const left = place.querySelector("svg").getBoundingClientRect().left + view.origin()[0];
    const value = view.scale("x").invert(event.clientX - left);
    set({ [x]: along[nearest(along, value)] });
  };
  place.addEventListener("click", aim);
  place.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" && event.buttons === 1) aim(event); });

  const follow = async () => {
    for (const { name } of controls) view.signal(`in_${name}`, model.get(name));
    await view.runAsync();
    for (const { name, stops, show } of moved) show(model.get(name), stops && view.signal(`shown_${name}`));
    const refusal = view.signal("out_refusal");
    say(sentence, refusal || view.signal("out_says"), Boolean(refusal));
    slot.dataset.refusal = refusal; // said where the curve would be, too: the sentence may be off a small screen
    for (const details of [arithmetic, data]) details?.toggleAttribute("hidden", Boolean(refusal)); // nothing to unfold
    if (refusal) return;
    if (arithmetic?.open) fillLines(arithmetic, Array.from({ length: lines }, (_, i) => view.signal(`out_line${i}`)));
    if (data.open) fillTable(data, columns, view.data("table"));
  };
  const redraw = onceAFrame(follow);
  for (const { name } of controls) model.on(`change:${name}`, redraw);
  for (const details of [arithmetic, data]) details?.addEventListener("toggle", redraw);
  const stopWidth = onWidth(slot, fit);
  link.follow();
  await follow();
  return () => { stopWidth(); link.stop(); view.finalize(); };
}

function fillTable(details, columns, rows) {
  const cells = (row) => columns.map((_, i) => element("td", {}, row[`cell${i}`]));
  details.querySelector("tbody").replaceChildren(...rows.map((row) => element("tr", {}, ...cells(row))));
}

export default { render };
