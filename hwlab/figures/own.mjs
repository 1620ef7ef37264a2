// A scene of the reader's own: fields that describe it, and frames that Python computes: in a page the page's own, which
// has to be started first, in a kernel the kernel's. The messages are the same. {type: "frames", id, values} asks; the answer
// is "progress" with a count, then "frames", or "refused" with a sentence, or "stopped". {type: "stop"} calls it off.
import { choice, element, onceAFrame, slider } from "./controls.mjs";

const REST = 150; // ms that the fields rest before frames of new values are computed
const SLOW = 400; // ms after which a run shows that it goes on
const QUIET = 2000; // ms between two sentences while a run goes on: a screen reader reads each of them out

/** The `fields` of a scene of one's own. `onframes(values, before)` hears that `frames` are there now, in place of `before`. */
export function ownScene({ model, fields, onframes }) {
  const key = (values) => JSON.stringify(values);
  const start = Object.fromEntries(fields.map(({ name, start }) => [name, start]));
  let values = { ...start, ...model.get("own") };
  const held = model.get("frames") ?? null; // a page's, where Python chose a scene of its own
  let shown = held ? key(values) : "", asked = null, stopped = false; // the values of `frames`; the question under way; whether the last was called off
  let timer = 0, slow = 0, told = 0;
  const inKernel = model.get("python") === undefined;
  const python = () => model.get("python") ?? { state: "ready" };
  const coming = () => !["off", "failed"].includes(python().state); // then the fields need no button: what they hold runs by itself

  const controls = fields.map(({ name, title, stops, options, unit }) => {
    const onset = (value) => change({ ...values, [name]: value });
    const { node, show } = stops ? slider({ title, stops, onset }) : choice({ title, options, onset });
    return { node, show: () => show(values[name], stops && `${values[name]} ${unit}`.trim()) };
  });
  const press = (onclick, label = "") => element("button", { type: "button", class: "hw-button", onclick }, label);
  const run = press(() => ask()), halt = press(() => stop(), "Stop");
  const bar = element("progress", { "aria-hidden": "true" }), status = element("p", { class: "hw-status", role: "status" });
  const node = element("div", { class: "hw-own", role: "group", "aria-label": "Your own scene", hidden: !held },
    element("div", { class: "hw-fields" }, ...controls.map(({ node }) => node)),
    element("div", { class: "hw-buttons" }, run, halt), bar, status);

  const say = (text, refused = false) => {
    if (status.textContent !== text) status.textContent = text;
    status.toggleAttribute("data-refused", refused);
    told = performance.now();
  };
  const change = (next) => {
    values = next;
    clearTimeout(timer);
    if (coming()) timer = setTimeout(ask, REST);
    follow();
  };
  const ask = () => {
    clearTimeout(timer);
    asked = { id: Math.random(), values: { ...values } };
    stopped = false;
    clearTimeout(slow);
    slow = setTimeout(() => { slow = 0; follow(); }, SLOW);
    model.send({ type: "frames", ...asked });
    follow();
  };
  const stop = () => model.send({ type: "stop" });
  const hear = ({ type, id, count, frames, says }) => {
    if (id !== asked?.id) return;
    if (type === "progress") {
      if (performance.now() > told + QUIET) say(`${count} frames so far`);
      return;
    }
    const of = asked.values, before = self.frames;
    asked = null;
    stopped = type === "stopped";
    if (type === "frames") {
      self.frames = frames;
      shown = key(of);
      say(`${frames.length} frames, computed by ${inKernel ? "the kernel" : "Python in this page"}`);
      onframes(of, before);
    } else if (type === "refused") say(says, true);
    else say("Stopped");
    follow();
  };
  const follow = () => {
    const { state, says, done, of, cost } = python(), starting = asked && state === "starting", running = asked && !slow;
    for (const { show } of controls) show();
    run.hidden = Boolean(asked) || shown === key(values) || coming() && !stopped;
    run.textContent = { off: `Run it: starts Python here (${cost}, once)`, failed: "Try again" }[state] ?? "Run it";
    halt.hidden = bar.hidden = !running;
    if (starting && done) Object.assign(bar, { max: of, value: done });
    else bar.removeAttribute("value");
    if (starting && performance.now() > told + QUIET) say(says);
  };
  let came = coming();
  const redraw = onceAFrame(() => { // somebody else may have started Python while the fields were open
    const comes = coming() && !came;
    came = coming();
    if (comes && self.isOpen() && !asked && shown !== key(values)) ask();
    follow();
  });
  model.on("change:python", redraw);
  model.on("msg:custom", hear);
  follow();

  const self = {
    node,
    frames: held,
    isOpen: () => !node.hidden,
    /** Whether `frames` are those of the scene that the model holds. */
    current: () => shown === key({ ...start, ...model.get("own") }),
    /** Opens the fields, on what they can hold of `given`, and runs if Python is there or coming, or `now` is set. */
    open(given = {}, now = false) {
      for (const { name, stops, options } of fields) {
        const value = stops ? Number(given[name] ?? NaN) : given[name];
        if (stops ? stops.includes(value) : options.some(([key]) => key === value)) values = { ...values, [name]: value };
      }
      node.hidden = false;
      if (shown === key(values)) onframes({ ...values }, self.frames);
      else if (key(asked?.values) !== key(values) && (now || coming())) ask();
      follow();
    },
    /** Puts the fields away, with what they hold, or back to where they began. */
    close(again = false) {
      if (asked) stop();
      if (again) values = { ...start };
      node.hidden = true;
    },
  };
  return self;
}
