// Loads MathJax from the book itself when the first formula comes near the viewport. Sphinx links this file in place
// of MathJax on the pages that hold a formula; its options stand in window.MathJax by then.
const formulas = document.querySelectorAll(".math");
let asked = false;

function load() {
  if (asked) return;
  asked = true;
  const script = document.createElement("script");
  script.src = new URL("./mathjax/tex-chtml.js", import.meta.url);
  document.head.append(script);
}

const near = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) { near.disconnect(); load(); }
}, { rootMargin: "800px" });
formulas.forEach((formula) => near.observe(formula));
addEventListener("beforeprint", load);
