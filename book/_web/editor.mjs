// A place to write Python in: a text area in which Enter keeps the indentation, Tab indents while one is writing, and
// Control and Enter runs. Whoever comes by with the Tab key and writes nothing passes on; after Escape, Tab leaves.
const INDENT = "    ";

/** Puts `text` in place of the selection as if it had been typed, so that it can be undone. */
function type(area, text) {
  if (!(text ? document.execCommand("insertText", false, text) : document.execCommand("delete"))) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Where the line begins in which `at` lies. */
const lineStart = (text, at) => text.lastIndexOf("\n", at - 1) + 1;

function newLine(area) {
  const { value, selectionStart: at } = area;
  const line = value.slice(lineStart(value, at), at);
  type(area, `\n${/^ */.exec(line)[0]}${/:\s*(#.*)?$/.test(line) ? INDENT : ""}`);
}

function indent(area, back) {
  const { value, selectionStart: start, selectionEnd: end } = area;
  if (start === end && !back) { type(area, INDENT.slice((start - lineStart(value, start)) % INDENT.length)); return; }
  const from = lineStart(value, start);
  const lines = value.slice(from, end).split("\n").map((line) => (back ? line.replace(/^ {1,4}/, "") : INDENT + line));
  area.setSelectionRange(from, end);
  type(area, lines.join("\n"));
  area.setSelectionRange(start === end ? area.selectionEnd : from, area.selectionEnd);
}

/** Makes a text area an editor; `onrun` is called for Control (or Command) and Enter. */
export function editor(area, onrun) {
  let writing = false;
  const fit = () => { area.rows = area.value.split("\n").length + 1; };
  area.addEventListener("input", () => { writing = true; fit(); });
  area.addEventListener("blur", () => { writing = false; });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") writing = false;
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onrun(); }
    else if (event.key === "Tab" && writing && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      indent(area, event.shiftKey);
    }
    event.stopPropagation(); // no key of an editor turns a page
  });
  area.addEventListener("beforeinput", (event) => { // not keydown: the keyboards of phones name no keys
    const { value, selectionStart: at, selectionEnd: end } = area;
    const before = value.slice(lineStart(value, at), at);
    if (event.inputType === "insertLineBreak") { event.preventDefault(); newLine(area); }
    else if (event.inputType === "deleteContentBackward" && at === end && /^( {4})+$/.test(before)) {
      event.preventDefault();
      area.setSelectionRange(at - INDENT.length, at);
      type(area, "");
    }
  });
  return {
    /** Shows `text`, as something typed where `undoable`. */
    show(text, undoable = false) {
      if (undoable) { area.focus(); area.select(); type(area, text); }
      else if (area.value !== text) area.value = text; // else the caret stays
      fit();
    },
  };
}
