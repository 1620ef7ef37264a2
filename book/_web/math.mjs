// Loads MathJax from the book itself when the first formula comes near the viewport. Sphinx links this file in place
// of MathJax on the pages that hold a formula; its options stand in window.MathJax by then.
const formulas = document.querySelectorAll(".math");
let asked = false;

function load() {
  if (asked) return;
  asked = true;
  const script = document.createElement("script");
  script.src = new URL("./mathjax/tex-chtml.js", import.meta.url);
  script.onload = () => window.MathJax.startup.promise.then(reach);
  document.head.append(script);
}

/** A formula that scrolls sideways must be within reach of the keyboard. */
function reach() {
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
  });
  document.querySelectorAll('.math > mjx-container[display="true"]').forEach((formula) => widths.observe(formula));
}

const near = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) { near.disconnect(); load(); }
}, { rootMargin: "800px" });
formulas.forEach((formula) => near.observe(formula));
addEventListener("beforeprint", load);
