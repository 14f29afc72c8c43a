// Paints squares. States differ in form as well as in colour: running squares
// have a frame, failed ones a cross, disputed ones a stroke.

// paper sizes the canvas for count squares, as large as fit the height, and
// returns their places.
export function paper(canvas, count, height) {
  const width = canvas.clientWidth;
  const labels = width > 560 ? 84 : 0; // for n at the start of rows
  const room = width - labels;
  let side = 26;
  while (side > 6 && Math.ceil(count / Math.floor(room / side)) * side > height) side--;
  const columns = Math.max(1, Math.floor(room / side));
  const rows = Math.max(1, Math.ceil(count / columns));
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(rows * side * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${rows * side}px`;
  }
  return {
    side, columns, rows, labels, scale,
    at(x, y, n) {
      const [c, r] = [Math.floor((x - labels) / side), Math.floor(y / side)];
      const i = r * columns + c;
      return c >= 0 && c < columns && r >= 0 && i < n ? i : -1;
    },
  };
}

function rgb(text) {
  const n = parseInt(text.trim().slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

function mix(a, b, t) {
  return `rgb(${a.map((x, i) => Math.round(x + (b[i] - x) * t)).join(",")})`;
}

export function paint(canvas, shape, heat, by, marks) {
  const css = getComputedStyle(document.documentElement);
  const color = {};
  for (const name of ["open", "done", "verified", "run", "failed", "disputed", "ink", "dim", "panel"]) color[name] = css.getPropertyValue(`--${name}`);
  const open = rgb(color.open);
  const done = rgb(color.done);
  const verified = rgb(color.verified);
  const { side, columns, labels, scale } = shape;
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, canvas.width, canvas.height);
  const gap = side > 8 ? 2 : 1;
  const inner = side - gap;
  const place = (i) => [labels + (i % columns) * side, Math.floor(i / columns) * side];
  const size = (i) => Number(heat.width) + (i < heat.extra ? 1 : 0);

  const sound = new Map(heat.verified);
  const slowest = Math.log1p(heat.slowest || 1);
  for (let i = 0; i < heat.los.length; i++) {
    const [x, y] = place(i);
    if (by === "time") {
      const t = heat.nanos && heat.nanos[i] ? 0.12 + (0.88 * Math.log1p(heat.nanos[i])) / slowest : 0;
      g.fillStyle = t ? mix(open, rgb(color.run), t) : color.open;
    } else {
      const v = sound.get(i) || 0;
      const share = (heat.done[i] + v) / size(i);
      // A few finished cells among many must show.
      g.fillStyle = share ? mix(open, v > heat.done[i] ? verified : done, 0.25 + 0.75 * share) : color.open;
    }
    g.fillRect(x, y, inner, inner);
  }
  if (by !== "time") {
    g.lineWidth = Math.max(1.5, side / 7);
    const edge = g.lineWidth / 2;
    g.strokeStyle = color.run;
    for (const [i] of heat.running) {
      const [x, y] = place(i);
      g.strokeRect(x + edge, y + edge, inner - 2 * edge, inner - 2 * edge);
    }
    for (const [i] of heat.disputed) stroke(i, color.disputed, false);
    for (const [i] of heat.failed) stroke(i, color.failed, true);
  }
  function stroke(i, fill, cross) {
    const [x, y] = place(i);
    g.fillStyle = fill;
    g.fillRect(x, y, inner, inner);
    if (inner < 5) return;
    const m = inner * 0.25;
    g.strokeStyle = color.panel;
    g.lineWidth = Math.max(1, side / 9);
    g.beginPath();
    g.moveTo(x + m, y + inner - m);
    g.lineTo(x + inner - m, y + m);
    if (cross) {
      g.moveTo(x + m, y + m);
      g.lineTo(x + inner - m, y + inner - m);
    }
    g.stroke();
  }

  if (labels) {
    g.fillStyle = color.dim;
    g.font = "11px system-ui, sans-serif";
    g.textAlign = "right";
    g.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(22 / side));
    for (let r = 0; r < shape.rows; r += every) {
      const i = r * columns;
      if (i < heat.los.length) g.fillText(label(heat.los[i]), labels - 8, r * side + inner / 2);
    }
  }
  const frame = (i) => {
    const [x, y] = place(i);
    g.strokeRect(x - 0.5, y - 0.5, inner + 1, inner + 1);
  };
  g.strokeStyle = color.ink;
  g.lineWidth = 1.5;
  if (marks.drag) {
    for (let i = Math.min(marks.drag.a, marks.drag.b); i <= Math.max(marks.drag.a, marks.drag.b); i++) frame(i);
  }
  if (marks.cursor >= 0 && marks.cursor < heat.los.length) frame(marks.cursor);
}

// label writes an n in the room of a dozen characters.
function label(n) {
  const s = String(n);
  return s.length > 10 ? `${s[0]}.${s.slice(1, 5)}e${s.length - 1}` : s.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
