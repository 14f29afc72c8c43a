// Shows times by the reader's clock and spans that grow by themselves.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
  return `${(s / 86400).toFixed(1)} days`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// localize rewrites all times below root.
export function localize(root) {
  const now = Date.now();
  for (const t of root.querySelectorAll("time[datetime]")) {
    const at = new Date(t.dateTime);
    if (isNaN(at)) continue;
    const old = now - at > 20 * 3600 * 1000;
    if (t.classList.contains("since")) set(t, span(now - at));
    else set(t, (t.classList.contains("day") || old ? day : clock).format(at));
    if (!t.title) t.title = full.format(at);
  }
}

// tick moves on the spans that grow.
export function tick() {
  const now = Date.now();
  for (const t of document.querySelectorAll("time.since")) set(t, span(now - new Date(t.dateTime)));
}
