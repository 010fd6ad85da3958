"use strict";
// Nothing here is needed to read the page: two buttons open and close the comparisons,
// and a link to something within a closed part opens it.
(() => {
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let e = target; e; e = e.parentElement) {
      if (e instanceof HTMLDetailsElement) e.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  for (const controls of document.querySelectorAll(".controls")) {
    controls.hidden = false;
    for (const button of controls.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        for (const d of controls.parentElement.querySelectorAll("details.pair, details.finding")) d.open = button.dataset.open === "yes";
      });
    }
  }
})();
