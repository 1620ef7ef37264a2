// The player of every machine: scenes, play, pause, step, back, scrub; one sentence a frame. Frames come from Python: those
// of the scenes in the page are in the payload, those of a scene of the reader's own are asked for (own.mjs).
import { address, choice, element, fillLines, furnish, onceAFrame, say, slider } from "./controls.mjs";
import { ownScene } from "./own.mjs";

const LONGEST = 12_000, SLOWEST = 600, FASTEST = 60; // ms: of a whole scene, and of one frame
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** The view of a machine whose frames `draw(slot, frame)` shows. */
export function machine(draw) {
  return { render: ({ model, el }) => render(model, el, draw) };
}

async function render(model, el, draw) {
  const inPage = furnish(el, model);
  const { name, version, scenes, frames: shipped, own: fields } = model.get("payload");
  const [slot, panel, more, sentence] = [".hw-slot", ".hw-controls", ".hw-more", ".hw-say"].map((part) => el.querySelector(part));
  const arithmetic = el.querySelector(".hw-arithmetic");
  const start = { scene: model.get("scene"), at: model.get("at") }, described = model.get("own");
  const frames = () => (model.get("scene") === "own" ? own.frames : shipped[model.get("scene")]);
  const last = () => frames().length - 1;
  const set = (changes) => {
    for (const [key, value] of Object.entries(changes)) model.set(key, value);
    model.save_changes();
    link.keep();
  };
  const move = (by) => set({ at: (model.get("at") + by + last() + 1) % (last() + 1) }); // after the last frame comes the first

  let clock = 0;
  const pause = () => {
    clearInterval(clock);
    clock = 0;
    sentence.setAttribute("aria-live", "polite");
    toggle.textContent = "Play";
  };
  const play = () => {
    if (model.get("at") === last()) set({ at: 0 });
    sentence.setAttribute("aria-live", "off"); // a sentence a tenth of a second is noise to a screen reader
    toggle.textContent = "Pause";
    clock = setInterval(() => {
      move(1);
      if (model.get("at") === last()) pause();
    }, Math.min(SLOWEST, Math.max(FASTEST, LONGEST / (last() + 1))));
  };

  const press = (label, onclick) => element("button", { type: "button", class: "hw-button", onclick }, label);
  const by = (step) => () => { pause(); move(step); };
  const playOrPause = () => (clock ? pause() : play());
  const back = press("Back", by(-1)), toggle = press("Play", playOrPause), step = press("Step", by(1));
  const pick = choice({
    title: "Scene",
    options: fields ? [...scenes, ["own", "Your own"]] : scenes,
    onset: (scene) => {
      pause();
      if (scene === "own") return own.open();
      own?.close();
      set({ scene, at: 0 });
    },
  });
  let wanted = null; // the frame at which the next scene of the reader's own is to be shown, where that is known
  const own = fields && ownScene({ model, fields, onframes: (values, before) => {
    pause();
    const ended = before && model.get("at") === before.length - 1; // who looks at the last frame goes on looking at it
    const at = Math.min(wanted ?? (ended ? Infinity : 0), own.frames.length - 1);
    wanted = null;
    set({ own: values, scene: "own", at });
    redraw();
  } });
  let scrub, stops = 0;
  const newScrub = () => { // its stops are the frames of the scene
    if (stops === last() + 1) return;
    stops = last() + 1;
    const made = slider({ title: "Step", stops: [...Array(stops).keys()], onset: (at) => { pause(); set({ at }); } });
    if (scrub) scrub.node.replaceWith(made.node);
    else panel.append(made.node);
    scrub = made;
  };
  panel.replaceChildren(pick.node, ...(own ? [own.node] : []), element("div", { class: "hw-buttons" }, back, toggle, step));

  // the figure takes keys too, while it has the focus
  const keys = { " ": () => (still.matches ? by(1)() : playOrPause()), ArrowLeft: by(-1), ArrowRight: by(1), Home: () => set({ at: 0 }), End: () => set({ at: last() }) };
  const onkey = (event) => {
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  };
  slot.tabIndex = 0;
  slot.setAttribute("aria-keyshortcuts", "Space ArrowLeft ArrowRight Home End");
  slot.addEventListener("keydown", onkey);
  slot.after(element("p", { class: "hw-keys", "aria-hidden": "true" }, "Space plays and pauses, the arrow keys step."));
  const quiet = () => { toggle.hidden = still.matches; if (still.matches) pause(); };
  still.addEventListener("change", quiet);

  const link = address({
    inPage, name, version,
    read: () => ({ scene: model.get("scene"), ...(model.get("scene") === "own" ? model.get("own") : {}), at: model.get("at") }),
    write: ({ scene, at, ...values }) => {
      const frame = Math.max(Math.trunc(Number(at)) || 0, 0);
      if (own && scene === "own") {
        wanted = frame;
        own.open(values, !navigator.connection?.saveData); // who follows a link wants what it leads to
        redraw();
      } else if (Object.hasOwn(shipped, scene)) {
        own?.close();
        set({ scene, at: Math.min(frame, shipped[scene].length - 1) });
      }
    },
  });
  const restart = () => {
    pause();
    own?.close(true);
    if (start.scene !== "own") return set(start);
    wanted = start.at;
    own.open(described);
  };
  const again = element("button", { type: "button", class: "hw-link", onclick: restart }, "Start again");
  more.append(element("div", { class: "hw-tools" }, ...link.nodes, again));

  slot.replaceChildren();
  const follow = () => {
    const scene = model.get("scene");
    if (scene === "own" && !own.current()) { // set from Python: its frames are yet to come
      wanted = model.get("at");
      return own.open(model.get("own"));
    }
    newScrub();
    const at = Math.min(model.get("at"), last()), frame = frames()[at];
    draw(slot, frame);
    pick.show(own?.isOpen() ? "own" : scene);
    scrub.show(at, `${at + 1} of ${last() + 1}`);
    say(sentence, frame.refusal ?? frame.says, Boolean(frame.refusal));
    if (arithmetic?.open) fillLines(arithmetic, frame.arithmetic ?? []);
    el.frame = frame;
  };
  const redraw = onceAFrame(follow);
  for (const key of ["own", "scene", "at"]) model.on(`change:${key}`, redraw);
  arithmetic?.addEventListener("toggle", redraw);
  quiet();
  follow();
  link.follow();
  return () => { pause(); own?.close(); still.removeEventListener("change", quiet); slot.removeEventListener("keydown", onkey); link.stop(); };
}
