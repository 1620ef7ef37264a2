// The player of every machine: scenes, play, pause, step, back, scrub; one sentence a frame. Frames come from Python.
import { address, choice, element, fillLines, furnish, onceAFrame, say, slider } from "./controls.mjs";

const LONGEST = 12_000, SLOWEST = 600, FASTEST = 60; // ms: of a whole scene, and of one frame
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** The view of a machine whose frames `draw(slot, frame)` shows. */
export function machine(draw) {
  return { render: ({ model, el }) => render(model, el, draw) };
}

async function render(model, el, draw) {
  const inPage = furnish(el, model);
  const { name, version, scenes, frames } = model.get("payload");
  const [slot, panel, more, sentence] = [".hw-slot", ".hw-controls", ".hw-more", ".hw-say"].map((part) => el.querySelector(part));
  const arithmetic = el.querySelector(".hw-arithmetic");
  const start = { scene: model.get("scene"), at: model.get("at") };
  const count = () => frames[model.get("scene")].length;
  const set = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    link.keep();
  };
  const move = (by) => set({ at: (model.get("at") + by + count()) % count() }); // after the last frame comes the first

  let clock = 0;
  const playing = () => clock !== 0;
  const pause = () => {
    clearInterval(clock);
    clock = 0;
    sentence.setAttribute("aria-live", "polite");
    toggle.textContent = "Play";
  };
  const play = () => {
    if (model.get("at") === count() - 1) set({ at: 0 });
    sentence.setAttribute("aria-live", "off"); // a sentence a tenth of a second is noise to a screen reader
    toggle.textContent = "Pause";
    clock = setInterval(() => {
      move(1);
      if (model.get("at") === count() - 1) pause();
    }, Math.min(SLOWEST, Math.max(FASTEST, LONGEST / count())));
  };

  const press = (label, onclick) => element("button", { type: "button", class: "hw-button", onclick }, label);
  const by = (step) => () => { pause(); move(step); };
  const back = press("Back", by(-1)), toggle = press("Play", () => (playing() ? pause() : play())), step = press("Step", by(1));
  const pick = choice({ title: "Scene", options: scenes, onset: (scene) => { pause(); set({ scene, at: 0 }); } });
  let scrub, stops = 0;
  const newScrub = () => { // its stops are the frames of the scene
    if (stops === count()) return;
    stops = count();
    const made = slider({ title: "Step", stops: [...Array(stops).keys()], onset: (at) => { pause(); set({ at }); } });
    scrub?.node.replaceWith(made.node);
    scrub = made;
  };
  newScrub();
  panel.replaceChildren(pick.node, element("div", { class: "hw-buttons" }, back, toggle, step), scrub.node);
  const quiet = () => { toggle.hidden = still.matches; if (still.matches) pause(); };
  still.addEventListener("change", quiet);

  const link = address({
    inPage, name, version,
    read: () => ({ scene: model.get("scene"), at: model.get("at") }),
    write: ({ scene, at }) => {
      if (!Object.hasOwn(frames, scene)) return;
      model.set("scene", scene);
      model.set("at", Math.min(Math.max(Math.trunc(Number(at)) || 0, 0), count() - 1));
      model.save_changes();
    },
  });
  const again = element("button", { type: "button", class: "hw-link", onclick: () => { pause(); set(start); } }, "Start again");
  more.append(element("div", { class: "hw-tools" }, ...link.nodes, again));

  slot.replaceChildren();
  const follow = () => {
    newScrub();
    const at = Math.min(model.get("at"), count() - 1), frame = frames[model.get("scene")][at];
    draw(slot, frame);
    pick.show(model.get("scene"));
    scrub.show(at, `${at + 1} of ${count()}`);
    say(sentence, frame.refusal ?? frame.says, Boolean(frame.refusal));
    if (arithmetic?.open) fillLines(arithmetic, frame.arithmetic ?? []);
    el.frame = frame;
  };
  const redraw = onceAFrame(follow);
  model.on("change:scene", redraw);
  model.on("change:at", redraw);
  arithmetic?.addEventListener("toggle", redraw);
  link.follow();
  quiet();
  follow();
  return () => { pause(); still.removeEventListener("change", quiet); link.stop(); };
}
