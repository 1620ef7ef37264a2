// The chip catalogue: sorts by a column, searches by name, opens the record that an address names.
const catalogue = document.querySelector(".catalogue");
if (catalogue) start(catalogue);

function start(catalogue) {
  const table = catalogue.querySelector(".chip-table");
  const bodies = [...table.tBodies];
  const text = new Map(bodies.map((body) => [body, `${body.id} ${body.rows[0].cells[0].textContent} ${body.rows[0].cells[1].textContent}`.toLowerCase()]));

  table.classList.add("sorts");
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, bodies, head));
  }

  const fieldset = catalogue.querySelector(".filter");
  const search = Object.assign(document.createElement("input"), { type: "search", className: "search", placeholder: "nvidia 2024", autocomplete: "off" });
  const label = Object.assign(document.createElement("label"), { className: "by" });
  label.append(catalogue.dataset.search, search);
  const count = Object.assign(document.createElement("output"), { className: "count" });
  fieldset.append(label, count);
  const show = () => {
    const words = search.value.toLowerCase().split(/[\s,;]+/).filter(Boolean);
    const kind = fieldset.querySelector(":checked").id.replace("show-", "");
    let shown = 0, found = 0;
    for (const body of bodies) {
      body.hidden = !words.every((word) => text.get(body).includes(word));
      if (body.hidden) continue;
      found += 1;
      if (kind === "all" || kind === body.dataset.kind) shown += 1;
    }
    const { nothing, elsewhere } = catalogue.dataset;
    count.value = shown ? `${shown} / ${bodies.length}` : found ? elsewhere.replace("{count}", found) : nothing;
  };
  fieldset.addEventListener("input", show);
  show();

  const open = () => {
    const body = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!bodies.includes(body)) return;
    body.querySelector("details").open = true;
    body.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
}

/** Names go up first, numbers down; a chip without the figure stays at the end either way. */
function sort(table, bodies, head) {
  const column = head.cellIndex;
  const named = column === 0;
  const before = head.getAttribute("aria-sort");
  const up = before ? before === "descending" : named || column === 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = (body) => {
    const cell = body.rows[0].cells[column];
    return named ? cell.textContent : cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
  };
  const keyed = bodies.map((body) => [key(body), body]);
  keyed.sort(([a], [b]) => {
    if (named) return (up ? 1 : -1) * a.localeCompare(b, "en", { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return (up ? 1 : -1) * (a - b);
  });
  table.append(...keyed.map(([, body]) => body));
}
