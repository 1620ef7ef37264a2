// What every page does by itself: tells live elements of a switch between light and dark.
const root = document.documentElement;
new MutationObserver(() => document.dispatchEvent(new CustomEvent("hw:theme", { detail: { theme: root.dataset.theme } })))
  .observe(root, { attributes: true, attributeFilter: ["data-theme"] });
