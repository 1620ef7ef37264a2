// What a search finds first, and what it quotes. Sphinx puts this file into language_data.js (html_search_scorer); Search,
// Scorer, Stemmer and splitQuery are its own, the objects come from book/_ext/finding.py.
{
  const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
  const stemmer = new Stemmer();
  const words = (text) => splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(word));
  const root = (word) => { // "memor" of "memory", whose stem is "memori"
    const stem = stemmer.stemWord(word);
    let common = 0;
    while (common < stem.length && stem[common] === word[common]) common++;
    return word.slice(0, common);
  };
  const wanted = words(query), asked = wanted.join(" ");
  const kinds = ["glossary", "symbol", "chip", "claim on trial", "question"]; // the first comes first

  /** 5: so called, letter by letter; 4: so called; 3: begins so; 2: has each word; 1: has each word as a part; 0: has not. */
  function fit(name, about) {
    const head = name.split(": ", 1)[0], symbol = about.startsWith("symbol,");
    const names = [name, head, name.split(".").at(-1), ...symbol ? head.split(/[ ()]+/) : head.match(/[^()]+(?=\)$)/g) ?? []];
    if (names.includes(query)) return 5;
    if (names.some((one) => words(one).join(" ") === asked)) return 4;
    const inName = words(`${name} ${about}`), long = wanted.every((word) => word.length > 2); // "P" and "I*" are no parts
    if (long && words(name).join(" ").startsWith(asked)) return 3;
    if (query.length > 1 && words(name).slice(0, wanted.length).join(" ") === asked) return 3; // KV
    if (wanted.every((word) => inName.includes(word))) return 2;
    return long && wanted.every((word) => inName.some((one) => one.includes(word))) ? 1 : 0;
  }

  // What is called so or begins so, then pages that say so (chapters, labs, the others), then what has the words in it, then
  // names of the package; these come first for what only a name looks like: kv_bytes, OutOfBlocks.
  const named = /[\p{L}\d]_|\p{L}\.\p{L}|\p{Ll}\p{Lu}/u.test(query) ? 300 : 0;

  // A result is [page, title, anchor, what it is, score, file]; only an object says what it is
  Scorer.score = ([page, title, anchor, about, given]) => {
    if (!about) {
      const chapter = page.startsWith("book/") && /\d/.test(page), lab = page.startsWith("notebooks/");
      const called = words(title.split(" > ").at(-1));
      if (called.join(" ") === asked) return 350 + given / 10;
      return 270 + (chapter ? 20 : lab ? 10 : 0) + (wanted.every((word) => called.includes(word)) ? 10 : 0) - (anchor ? 5 : 0) + given / 10;
    }
    const fits = fit(title, about), kind = kinds.findIndex((one) => about.startsWith(`${one},`));
    return fits && (kind < 0 ? 30 * fits + named : 100 * fits + 50 - 5 * kind) + given / 10;
  };

  const search = Search._performSearch;
  Search._performSearch = (...parts) => {
    parts[4] = new Set(splitQuery(query.toLowerCase()).map(root)); // what the name of an object must hold
    const seen = new Set();
    const once = (place) => !seen.has(place) && seen.add(place);
    const results = search(...parts).reverse().filter(([page, title, anchor, about, score]) =>
      score > 0 && (about || !anchor || title.includes(" > ")) // without entries of the index, which are objects too
      && once(page + anchor)).slice(0, 60);
    document.getElementById("search-help").hidden = results.length > 0;
    document.getElementById("search-nothing").hidden = false; // of the help, which is there only then
    return results.reverse(); // the last is shown first
  };

  // Prose is quoted; not what is folded, what answers a guess, and what a control, a program or a note says
  const unquoted = "button, details, header, nav, svg, [hidden], .ask, .reply, .hw-says, .hw-live, .cell_input, "
    + ".cell_output, .spec-note, div.math, .bd-header-article, .bd-sidebar-secondary, #jb-print-docs-body";
  const text = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll(unquoted).forEach((part) => part.remove());
    page.querySelectorAll("h1, h2, h3, p, li, dt, dd, td, th").forEach((part) => part.append(" "));
    return text(page.documentElement.outerHTML, anchor).replace(/\s+/g, " ").trim();
  };
}
