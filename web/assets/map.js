// The map of cells: squares along n, row by row, drawn on a canvas. One square
// is one cell, or many where there are too many to see. The server sums up, so
// that a map never has more than 2000 squares.

import { paint, paper } from "./paint.js";

const most = 2000; // squares
const height = 252; // of the squares, about
const names = {
  done: "done", verified: "verified", running: "running", failed: "failed", disputed: "disputed", open: "open",
};

const group = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

export function startMap(panel, cellPlace, follow, morph, localize) {
  const { run, sweep, symbol, first, last } = panel.dataset;
  const form = panel.querySelector("#window");
  const lookup = panel.querySelector("#lookup");
  const out = panel.querySelector("#out");
  const view = { from: panel.dataset.from, to: panel.dataset.to, by: "state" };
  const onWindow = [];
  let heat = null;
  let shape = null; // columns and size of the squares
  let cursor = -1;
  let drag = null;
  let version = null;
  let asked = 0;

  // The parts of the map, made here because they are of no use without script.
  const make = (tag, props = {}, ...inside) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...inside);
    return e;
  };
  const legend = make("ul", { className: "legend" });
  const canvas = make("canvas", { className: "map-canvas", tabIndex: 0, id: "cells" });
  // An application takes the arrow keys itself instead of leaving them to the
  // screen reader.
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "map of cells");
  canvas.setAttribute("aria-label", "Map of cells, not read yet");
  canvas.setAttribute("aria-describedby", "map-help");
  const line = make("p", { className: "map-line", id: "map-line" });
  const help = make("p", {
    className: "hide", id: "map-help",
    textContent: "Arrow keys move between squares, Enter shows a cell or looks into a square, plus and minus zoom, Page Up and Page Down move along, Escape shows the whole sweep.",
  });
  const svg = "http://www.w3.org/2000/svg";
  const strip = document.createElementNS(svg, "svg");
  strip.classList.add("strip");
  strip.setAttribute("aria-hidden", "true");
  const whole = document.createElementNS(svg, "rect");
  const part = document.createElementNS(svg, "rect");
  whole.classList.add("whole");
  part.classList.add("part");
  for (const r of [whole, part]) {
    r.setAttribute("height", "100%");
    r.setAttribute("rx", "3");
  }
  whole.setAttribute("width", "100%");
  strip.append(whole, part);
  const byState = make("button", { type: "button", textContent: "state" });
  const byTime = make("button", { type: "button", textContent: "time per value" });
  const toggle = make("span", { className: "toggle" }, byState, byTime);
  toggle.setAttribute("role", "group");
  toggle.setAttribute("aria-label", "Colour by");
  legend.append(make("li", { className: "grow" }, toggle));
  panel.querySelector("#canvas-place").replaceChildren(legend, strip, canvas, line, help);

  // squares returns how many squares fit.
  function squares() {
    const width = canvas.clientWidth || 600;
    return Math.min(most, Math.floor(width / 10) * Math.floor(height / 10));
  }

  async function load() {
    const mine = ++asked;
    const query = new URLSearchParams({ sweep, from: view.from, to: view.to, bins: squares(), by: view.by });
    const answer = await fetch(`/run/${run}/heat.json?${query}`).catch(() => null);
    const next = answer && answer.ok ? await answer.json().catch(() => null) : null;
    if (!next) {
      version = null; // the next message asks again
      return;
    }
    if (mine !== asked) return;
    heat = next;
    // The new map may have fewer squares.
    const end = heat.los.length - 1;
    cursor = Math.min(cursor, end);
    if (drag) drag = { a: Math.min(drag.a, end), b: Math.min(drag.b, end) };
    draw();
  }

  // Loads for one version follow each other; what comes meanwhile waits.
  let busy = false;
  let again = false;
  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    await load();
    busy = false;
    if (again) {
      again = false;
      refresh();
    }
  }

  function draw() {
    if (!heat || !canvas.clientWidth) return;
    const begin = performance.now();
    shape = paper(canvas, heat.los.length, height);
    paint(canvas, shape, heat, view.by, { cursor, drag });
    performance.measure("map", { start: begin });
    tell();
    describe();
  }

  // tell writes the legend with the numbers of the window.
  function tell() {
    const sum = (pairs) => pairs.reduce((a, p) => a + p[1], 0);
    const n = {
      done: heat.done.reduce((a, b) => a + b, 0), verified: sum(heat.verified), running: sum(heat.running),
      failed: sum(heat.failed), disputed: sum(heat.disputed),
    };
    n.open = Number(heat.cells) - n.done - n.verified - n.running - n.failed - n.disputed;
    const items = Object.keys(names)
      .filter((k) => n[k] > 0 || k === "done" || k === "open" || k === "running")
      .map((k) => make("li", {}, make("span", { className: `swatch w-${k}` }), `${names[k]} ${group(n[k])}`));
    if (view.by === "time") {
      const text = heat.slowest ? `dark to bright: up to ${nanos(heat.slowest)} a value; grey: not seen` : "no finished task was seen yet";
      items.splice(0, items.length, make("li", {}, text));
    }
    byState.setAttribute("aria-pressed", String(view.by === "state"));
    byTime.setAttribute("aria-pressed", String(view.by === "time"));
    // The buttons stay in place: one that is taken out under the pointer, and be
    // it for an instant, is not clicked.
    while (legend.children.length > 1) legend.firstChild.remove();
    legend.lastChild.before(...items);
    const cells = `${group(heat.cells)} of ${group(heat.all)} cells of ${sweep}, n = ${group(heat.los[0])} to ${group(heat.his[heat.his.length - 1])}`;
    canvas.setAttribute("aria-label", `Map of ${cells}: ${Object.keys(names).filter((k) => n[k] > 0).map((k) => `${n[k]} ${names[k]}`).join(", ")}`);
    const zoomed = String(view.from) !== first || String(view.to) !== last;
    strip.toggleAttribute("hidden", !zoomed);
    strip.style.display = zoomed ? "" : "none";
    const all = Number(last) - Number(first) + 1;
    part.setAttribute("x", `${(100 * (Number(view.from) - Number(first))) / all}%`);
    part.setAttribute("width", `${Math.max(0.6, (100 * (Number(view.to) - Number(view.from) + 1)) / all)}%`);
  }

  function nanos(x) {
    if (x < 1000) return `${Math.round(x)} ns`;
    if (x < 1e6) return `${(x / 1e3).toFixed(1)} µs`;
    if (x < 1e9) return `${(x / 1e6).toFixed(1)} ms`;
    return `${(x / 1e9).toFixed(1)} s`;
  }

  const size = (i) => Number(heat.width) + (i < heat.extra ? 1 : 0);
  const inBin = (pairs, i) => (pairs.find((p) => p[0] === i) || [0, 0])[1];

  // describe tells about the square under the cursor.
  function describe() {
    if (!heat) return;
    if (drag && drag.a !== drag.b) {
      const [a, b] = [Math.min(drag.a, drag.b), Math.max(drag.a, drag.b)];
      line.textContent = `Look into n = ${group(heat.los[a])}…${group(heat.his[b])}`;
      return;
    }
    if (cursor < 0 || cursor >= heat.los.length) {
      const per = Number(heat.width) > 1 || heat.extra ? `A square is ${group(heat.width)}${heat.extra ? ` or ${group(Number(heat.width) + 1)}` : ""} cells.` : "A square is one cell.";
      line.textContent = `${per} Click to look into a square, or drag over several.`;
      return;
    }
    const i = cursor;
    const n = heat.los[i] === heat.his[i] ? `n = ${group(heat.los[i])}` : `n = ${group(heat.los[i])}…${group(heat.his[i])}`;
    const states = {
      disputed: inBin(heat.disputed, i), failed: inBin(heat.failed, i), running: inBin(heat.running, i),
      verified: inBin(heat.verified, i), done: heat.done[i],
    };
    const known = Object.entries(states).filter(([, v]) => v > 0);
    const open = size(i) - known.reduce((a, [, v]) => a + v, 0);
    if (open > 0) known.push(["open", open]);
    const what = size(i) === 1 ? known.map(([k]) => names[k]).join() : `${group(size(i))} cells: ${known.map(([k, v]) => `${group(v)} ${names[k]}`).join(", ")}`;
    const time = view.by === "time" && heat.nanos && heat.nanos[i] ? `, ${nanos(heat.nanos[i])} a value` : "";
    line.textContent = `${n} · ${what}${time}`;
  }

  // Window
  const clamp = (n) => {
    const [a, b, x] = [BigInt(first), BigInt(last), BigInt(n)];
    return String(x < a ? a : x > b ? b : x);
  };
  function show(from, to, keep) {
    view.from = clamp(from);
    view.to = clamp(to);
    if (!keep) cursor = -1;
    form.elements.from.value = view.from;
    form.elements.to.value = view.to;
    const address = new URL(location.href);
    const zoomed = view.from !== first || view.to !== last;
    for (const [k, v] of [["from", view.from], ["to", view.to]]) {
      if (zoomed) address.searchParams.set(k, v);
      else address.searchParams.delete(k);
    }
    address.searchParams.set("sweep", sweep);
    history.replaceState(null, "", address);
    for (const f of onWindow) f();
    refresh();
  }
  const open = (i) => {
    if (size(i) === 1) cell(String(heat.los[i]));
    else show(heat.los[i], heat.his[i]);
  };
  // zoom makes the window so many times as long, around the cursor.
  function zoom(factor) {
    const [a, b] = [BigInt(view.from), BigInt(view.to)];
    const length = b - a + 1n;
    const middle = cursor >= 0 ? BigInt(heat.los[cursor]) : a + length / 2n;
    let half = factor > 1 ? (length * BigInt(factor)) / 2n : length / (2n * BigInt(Math.round(1 / factor)));
    if (half < 1n) half = 1n;
    show(middle - half, middle + half - 1n);
  }
  function move(direction) {
    const [a, b] = [BigInt(view.from), BigInt(view.to)];
    const by = ((b - a + 1n) * 3n) / 4n;
    let from = a + BigInt(direction) * by;
    if (from < BigInt(first)) from = BigInt(first);
    if (from + b - a > BigInt(last)) from = BigInt(last) - (b - a);
    show(from, from + b - a, true);
  }

  // Cells
  let latestCell = 0;
  async function cell(n) {
    const mine = ++latestCell;
    const query = new URLSearchParams({ sweep, n, part: "1" });
    const answer = await fetch(`/run/${run}/cell?${query}`).catch(() => null);
    const text = await answer?.text().catch(() => undefined);
    if (text === undefined || mine !== latestCell) return;
    if (answer.ok) {
      morph(cellPlace, text);
      localize(cellPlace);
    } else {
      cellPlace.replaceChildren(make("p", { className: "bad", textContent: text }));
    }
  }
  cellPlace.addEventListener("click", (event) => {
    const link = event.target.closest("[data-cell]");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    cell(link.dataset.cell);
  });
  lookup.addEventListener("submit", (event) => {
    event.preventDefault();
    cell(lookup.elements.n.value);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const digits = (e, otherwise) => e.value.replace(/[\s,_]/g, "").match(/^\d{1,18}$/)?.[0] ?? otherwise;
    const [a, b] = [digits(form.elements.from, first), digits(form.elements.to, last)];
    if (BigInt(a) <= BigInt(b)) show(a, b);
    else show(first, last);
  });
  out.addEventListener("click", (event) => {
    event.preventDefault();
    show(first, last);
  });
  for (const [button, by] of [[byState, "state"], [byTime, "time"]]) {
    button.addEventListener("click", () => {
      view.by = by;
      refresh();
    });
  }

  // Pointer
  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    return shape && heat ? shape.at(event.clientX - box.left, event.clientY - box.top, heat.los.length) : -1;
  };
  canvas.addEventListener("pointerdown", (event) => {
    const i = under(event);
    if (event.button !== 0 || i < 0) return;
    drag = { a: i, b: i };
    if (event.pointerType === "mouse") canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const i = under(event);
    if (i < 0) return;
    cursor = i;
    if (drag) drag.b = i;
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const i = under(event);
    const [a, b] = [Math.min(drag.a, drag.b), Math.max(drag.a, drag.b)];
    drag = null;
    if (i < 0) return draw();
    if (a === b) open(a);
    else show(heat.los[a], heat.his[b]);
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    draw();
  });
  canvas.addEventListener("pointerleave", () => {
    if (drag || document.activeElement === canvas) return;
    cursor = -1;
    draw();
  });

  // Keys
  canvas.addEventListener("focus", () => {
    if (cursor < 0) cursor = 0;
    line.setAttribute("aria-live", "polite");
    draw();
  });
  canvas.addEventListener("blur", () => {
    line.removeAttribute("aria-live");
    draw();
  });
  canvas.addEventListener("keydown", (event) => {
    if (!heat || !shape || event.ctrlKey || event.metaKey || event.altKey) return;
    const end = heat.los.length - 1;
    const at = Math.max(0, cursor);
    const step = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - shape.columns, ArrowDown: at + shape.columns, Home: 0, End: end }[event.key];
    if (step !== undefined) {
      if (step >= 0 && step <= end) cursor = step;
      draw();
    } else if (event.key === "Enter" || event.key === " ") open(at);
    else if (event.key === "+" || event.key === "=") zoom(0.25);
    else if (event.key === "-") zoom(4);
    else if (event.key === "PageDown") move(1);
    else if (event.key === "PageUp") move(-1);
    else if (event.key === "Escape") show(first, last);
    else return;
    event.preventDefault();
  });

  new ResizeObserver(() => refresh()).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  follow((m) => {
    if (!m.heat || m.heat[sweep] === version) return;
    version = m.heat[sweep];
    refresh();
  });
  refresh();

  return { window: () => ({ from: view.from, to: view.to }), onWindow: (f) => onWindow.push(f), symbol };
}
