// What explorers and machines share: controls made of native inputs, state in the page's address, redraws once a frame.
// Each control calls `onset(value)` when the reader moves it and has `show(value, text)` to follow the state.

let made = 0;

/** An element with attributes and children; null children are left out. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A slider over `stops`, the values it may take. The state may lie between two; the handle then shows the nearer. */
export function slider({ title, stops, onset }) {
  const id = `hw-control-${++made}`;
  const shown = element("span", { class: "hw-value", "aria-hidden": "true" });
  const input = element("input", {
    type: "range", id, min: 0, max: stops.length - 1, step: 1,
    oninput: () => onset(stops[+input.value]),
    onkeydown: (event) => event.stopPropagation(), // arrow keys move the slider and turn no page
  });
  const node = element("div", { class: "hw-control" }, element("label", { class: "hw-name", for: id }, title), shown, input);
  const show = (value, text) => {
    const near = nearest(stops, value);
    if (+input.value !== near) input.value = near;
    if (shown.textContent !== text) {
      shown.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
  };
  return { node, show };
}

/** Index of the stop that is nearest to `value`. */
export function nearest(stops, value) {
  let low = 0, high = stops.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (stops[middle] > value) high = middle;
    else low = middle;
  }
  return value - stops[low] <= stops[high] - value ? low : high;
}

/** A choice among `options`, pairs of key and label: radio buttons when few, else a list. */
export function choice({ title, options, onset }) {
  const id = `hw-control-${++made}`;
  if (options.length > 5) {
    const list = element("select", { id, onchange: () => onset(list.value), onkeydown: (event) => event.stopPropagation() },
      ...options.map(([key, label]) => element("option", { value: key }, label)));
    const node = element("div", { class: "hw-control hw-list" }, element("label", { class: "hw-name", for: id }, title), list);
    return { node, show: (value) => { if (list.value !== value) list.value = value; } };
  }
  const radios = new Map(options.map(([key]) => [key, element("input", {
    type: "radio", name: id, value: key, onchange: () => onset(key), onkeydown: (event) => event.stopPropagation(),
  })]));
  const node = element("fieldset", { class: "hw-control hw-choice" }, element("legend", { class: "hw-name" }, title),
    ...options.map(([key, label]) => element("label", {}, radios.get(key), label)));
  return { node, show: (value) => { radios.get(value).checked = true; } };
}

/** `action`, at most once a frame however often it is asked for. */
export function onceAFrame(action) {
  let waiting = 0;
  return () => { waiting ||= requestAnimationFrame(() => { waiting = 0; action(); }); };
}

const SIZE = /(\d (?:%|[kMGTPEmµnp]?(?:s|B|J|W|FLOPs?|bit)(?:\/s)?(?!\w)))/; // a number's end and its unit stay on one line

/** Writes `text` where it differs, so that a screen reader hears each sentence once. */
export function say(node, text, refused = false) {
  if (node.textContent !== text)
    node.replaceChildren(...text.split(SIZE).map((part, i) => (i % 2 ? element("span", { class: "hw-size" }, part) : part)));
  node.toggleAttribute("data-refused", refused);
}

/** Fills `el` with the markup of `model` where a page has not done so: in a kernel, whose output starts empty.
 *  Tells whether `el` is part of a page. */
export function furnish(el, model) {
  if (el.querySelector(".hw-slot")) return true;
  el.classList.add("hw-live", "hw-output");
  el.innerHTML = model.get("markup");
  return false;
}

/** Keeps the state of the element `name` in the page's address as #hw:name:v1:key=value;key=value.
 *  `read()` gives the state as text values by key; `write(values)` sets what it knows and ignores the rest.
 *  A notebook's address is not ours to change: there, nothing happens. */
export function address({ inPage, name, version, read, write }) {
  if (!inPage) return { follow() {}, keep() {}, stop() {}, nodes: [] };
  const prefix = `#hw:${name}:v${version}:`;
  const here = () => prefix + Object.entries(read()).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join(";");
  const follow = () => {
    if (!location.hash.startsWith(prefix)) return;
    const pairs = location.hash.slice(prefix.length).split(";").map((pair) => pair.split("="));
    write(Object.fromEntries(pairs.map(([key, value]) => [key, decoded(value ?? "")])));
  };
  let timer = 0;
  const keep = () => { // browsers refuse many changes a second
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState(history.state, "", here()), 300);
  };
  addEventListener("hashchange", follow);
  const note = element("span", { class: "hw-note", role: "status" });
  const button = element("button", { type: "button", class: "hw-link", onclick: async () => {
    history.replaceState(history.state, "", here());
    try {
      await navigator.clipboard.writeText(location.href);
      note.textContent = "Link copied";
    } catch {
      note.textContent = "The link is in the address bar";
    }
    setTimeout(() => { note.textContent = ""; }, 4000);
  } }, "Copy link");
  const wrong = report(() => here().slice(1));
  const printed = element("a", { class: "hw-address" }); // paper says where this state can be moved on
  const print = () => { printed.href = here(); printed.textContent = printed.href; };
  addEventListener("beforeprint", print);
  const stop = () => { removeEventListener("hashchange", follow); removeEventListener("beforeprint", print); };
  return { follow, keep, stop, nodes: [button, note, wrong, printed].filter(Boolean) };
}

/** A link with which a reader reports a number of a figure, named by `key()` then; null where no repository is known. */
export function report(key) {
  const form = document.querySelector('meta[name="hw-report"]')?.content;
  return form ? element("a", { class: "hw-link no-print", href: form, onclick: ({ currentTarget }) => {
    currentTarget.href = form.replaceAll("%7Bkey%7D", encodeURIComponent(`figure ${key()}`));
  } }, "Report this number") : null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch { // a link cut in the middle of a character
    return text;
  }
}

/** Resolves when the fonts that charts are measured with have come, or cannot. */
export async function fonts() {
  const style = ["500 15px", "600 16px"].map((size) => document.fonts.load(`${size} "Barlow Semi Condensed"`));
  await Promise.allSettled(style);
}

/** Calls `action(width)` when the width of `node` changes; returns how to stop. */
export function onWidth(node, action) {
  let last = node.clientWidth;
  const watch = new ResizeObserver(() => { if (node.clientWidth && node.clientWidth !== last) action((last = node.clientWidth)); });
  watch.observe(node);
  return () => watch.disconnect();
}

/** Fills the calculation that the reader has unfolded. */
export function fillLines(details, lines) {
  details.querySelector("ol").replaceChildren(...lines.map((line) => element("li", {}, line)));
}
