// Keeps a page up to date from one stream, and asks before buttons act. What it
// does is extra: every page works without it.

import { morph } from "./morph.js";
import { localize, tick } from "./time.js";
import { startMap } from "./map.js";
import { startPlots } from "./plots.js";

const byID = (id) => document.getElementById(id);
const live = byID("live");
const listeners = []; // of messages

function status(is, text) {
  if (!live) return;
  live.dataset.is = is;
  if (live.textContent !== text) live.textContent = text;
}

// Stream: open while the page is visible, so that forgotten tabs cost nothing.
let source = null;
function listen() {
  const address = document.body.dataset.stream;
  if (!address || source || document.hidden) return;
  status("wait", "connecting…");
  source = new EventSource(address);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) {
      status("lost", "not connected");
      hush();
      setTimeout(listen, 5000);
    } else {
      status("lost", "reconnecting…");
    }
  };
}
function hush() {
  if (source) source.close();
  source = null;
}
function take(m) {
  if (m.gone) {
    status("lost", "this run was deleted");
    hush();
    document.body.dataset.stream = "";
    return;
  }
  for (const [id, html] of Object.entries(m.parts)) {
    const target = byID(id);
    if (!target) continue;
    morph(target, html);
    localize(target);
  }
  status(byID("banner").querySelector(".alert time") ? "lost" : "live", byID("banner").querySelector(".alert time") ? "store lost" : "live");
  if (m.title && document.body.dataset.stream) document.title = m.title;
  for (const f of listeners) f(m);
  document.body.dataset.seq = m.seq;
}
document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
window.addEventListener("pagehide", hush);
window.addEventListener("pageshow", listen);

// Buttons ask in a dialog; without script their links lead to a page that asks.
const ask = byID("ask");
if (ask) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    if (!button || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const d = button.dataset;
    ask.querySelector("form").action = button.getAttribute("href").replace("/confirm/", "/");
    byID("ask-title").textContent = d.ask;
    byID("ask-text").textContent = d.tell;
    byID("ask-yes").textContent = d.label;
    ask.showModal();
  });
  byID("ask-no").addEventListener("click", () => ask.close());
  ask.addEventListener("click", (event) => {
    if (event.target === ask) ask.close();
  });
}

// Failed cells: the list follows the filter as it is typed, and the run.
const filter = byID("filter");
if (filter) {
  const list = byID("failure-list");
  const input = filter.elements.q;
  let mark = filter.dataset.mark; // of the list that came with the page
  let timer = 0;
  let latest = 0;
  const load = async () => {
    const mine = ++latest;
    const query = new URLSearchParams({ q: input.value, part: "1" });
    const answer = await fetch(`${location.pathname}/failures?${query}`).catch(() => null);
    const text = answer && answer.ok ? await answer.text().catch(() => null) : null;
    if (text === null) {
      mark = ""; // the next message asks again
      return;
    }
    if (mine !== latest) return;
    morph(list, text);
    localize(list);
    const address = new URL(location.href);
    if (input.value) address.searchParams.set("q", input.value);
    else address.searchParams.delete("q");
    history.replaceState(null, "", address);
  };
  const soon = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(load, ms);
  };
  input.addEventListener("input", () => soon(150));
  filter.addEventListener("submit", (event) => {
    event.preventDefault();
    soon(0);
  });
  listeners.push((m) => {
    if (mark === m.failures) return;
    mark = m.failures;
    filter.hidden = mark.split(".")[1] === "0";
    soon(300);
  });
}

const follow = (f) => listeners.push(f);
const map = byID("map") ? startMap(byID("map"), byID("cell"), follow, morph, localize) : null;
if (byID("plots")) startPlots(byID("plots"), map, follow);

localize(document);
setInterval(tick, 1000);
listen();
