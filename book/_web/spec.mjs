// A figure's note: Escape closes it, without losing one's place; pointing elsewhere makes it ready again.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const figure of document.querySelectorAll(".spec:is(:hover, :focus-within)")) {
    if (figure.contains(document.activeElement)) figure.focus(); // a link in the note goes with it
    figure.classList.add("closed");
  }
});
for (const kind of ["pointerout", "focusout"])
  document.addEventListener(kind, ({ target, relatedTarget }) => {
    const figure = target.closest?.(".spec");
    if (figure && !figure.contains(relatedTarget)) figure.classList.remove("closed");
  });
