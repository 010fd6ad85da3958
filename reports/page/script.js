"use strict";
// Nothing here is needed to read the page: two buttons open and close the comparisons,
// a link to something within a closed part opens it, the plot is sorted and filtered,
// and a drag over a chart of sessions zooms into them.
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
  for (const plot of document.querySelectorAll(".chart g.plot")) {
    const chart = plot.ownerSVGElement, left = +plot.dataset.left, right = +plot.dataset.right;
    const label = chart.querySelector(':scope > text.label[text-anchor="middle"]'), title = label.textContent;
    const ticks = [...chart.querySelectorAll(':scope > .grid, :scope > .tick[text-anchor="middle"]')]
      .filter((e) => e.getAttribute("x1") === e.getAttribute("x2")); // not the lines across
    const places = ["x", "x1", "x2", "cx"];
    const at = [...plot.children, ...ticks].map((e) => [e, places.filter((p) => e.hasAttribute(p)).map((p) => [p, +e.getAttribute(p)])]);
    const widths = new Map([...plot.querySelectorAll("rect")].map((e) => [e, +e.getAttribute("width")]));
    const drag = document.createElementNS(chart.namespaceURI, "rect");
    const unit = (event) => Math.min(right, Math.max(left, new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse()).x));
    let from = left, to = right, begun;
    const zoom = (a, b) => {
      [from, to] = [a, b];
      const times = (right - left) / (to - from), moved = (x) => left + (x - from) * times;
      for (const [e, list] of at) for (const [place, x] of list) e.setAttribute(place, moved(x));
      for (const [e, width] of widths) e.setAttribute("width", width * times);
      for (const e of plot.querySelectorAll("path")) e.setAttribute("transform", `matrix(${times} 0 0 1 ${left - from * times} 0)`);
      for (const e of ticks) {
        const x = +(e.getAttribute("x1") ?? e.getAttribute("x"));
        e.classList.toggle("out", x < left || x > right);
      }
      const days = [...plot.querySelectorAll("circle")].filter((e) => +e.getAttribute("cx") >= left && +e.getAttribute("cx") <= right)
        .map((e) => e.textContent.slice(0, 10)).sort();
      label.textContent = times === 1 || !days.length ? `${title} · drag to zoom` : `${days[0]} … ${days.at(-1)} · double click for all`;
    };
    drag.setAttribute("class", "drag");
    drag.setAttribute("height", chart.viewBox.baseVal.height);
    chart.addEventListener("pointerdown", (event) => { begun = unit(event); });
    chart.addEventListener("pointermove", (event) => {
      if (begun === undefined) return;
      const x = unit(event);
      drag.setAttribute("x", Math.min(begun, x));
      drag.setAttribute("width", Math.abs(x - begun));
      chart.append(drag);
    });
    const end = (event) => {
      if (begun !== undefined && event.type === "pointerup") {
        const back = (x) => from + (x - left) * (to - from) / (right - left), ends = [begun, unit(event)].sort((a, b) => a - b);
        if (ends[1] - ends[0] > 4) zoom(back(ends[0]), back(ends[1]));
      }
      begun = undefined;
      drag.remove();
    };
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) chart.addEventListener(name, end);
    chart.addEventListener("dblclick", () => zoom(left, right));
    zoom(left, right);
  }
})();
