"use strict";
// Nothing here is needed to read the page: two buttons open and close the comparisons,
// a link to something within a closed part opens it, and the plot is sorted and filtered.
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
  for (const forest of document.querySelectorAll("div.forest")) {
    const tools = forest.querySelector(".tools");
    const sort = tools.querySelector("[data-sort]"), find = tools.querySelector("[data-find]"), open = tools.querySelector("[data-open-only]");
    const lists = [...forest.querySelectorAll("ol")].map((list) => ({ list, rows: [...list.children] }));
    const name = (row) => row.querySelector(".cell").textContent;
    const by = {
      worse: (a, b) => b.dataset.worse - a.dataset.worse,
      name: (a, b) => name(a).localeCompare(name(b), undefined, { numeric: true }),
    };
    const draw = () => {
      for (const { list, rows } of lists) {
        const words = find.value.toLowerCase().split(" ");
        const metric = list.parentElement.querySelector("h3").textContent;
        const order = by[sort.value] ? [...rows].sort(by[sort.value]) : rows;
        let shown = 0;
        for (const row of order) {
          const text = (metric + " " + name(row) + " " + row.firstElementChild.title).toLowerCase();
          row.hidden = (open.checked && row.dataset.passed === "true") || !words.every((w) => text.includes(w));
          shown += row.hidden ? 0 : 1;
          list.append(row);
        }
        list.parentElement.hidden = shown === 0;
      }
    };
    tools.hidden = false;
    tools.addEventListener("input", draw);
  }
  for (const controls of document.querySelectorAll(".controls")) {
    controls.hidden = false;
    for (const button of controls.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        for (const d of controls.parentElement.querySelectorAll("details.pair, details.finding")) d.open = button.dataset.open === "yes";
      });
    }
  }
})();
