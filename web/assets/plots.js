// Shows one plot at a time, of the window that the map shows. Pictures of a run
// under way are drawn anew now and then, not with every value.

const every = 15000;

export function startPlots(panel, map, follow) {
  const place = panel.querySelector("#plot-place");
  const tabs = [...panel.querySelectorAll("[data-kind]")];
  const image = document.createElement("img");
  image.className = "plot";
  image.decoding = "async";
  const caption = document.createElement("p");
  caption.className = "dim small";
  const link = document.createElement("a");
  caption.append(link);
  place.replaceChildren(image, caption);

  let current = tabs[0];
  let drawn = 0;
  let values = null;
  let drawnValues = null;

  function address() {
    const url = new URL(current.href);
    if (map) {
      const w = map.window();
      url.searchParams.set("from", w.from);
      url.searchParams.set("to", w.to);
    }
    return url;
  }
  function draw() {
    for (const t of tabs) {
      if (t === current) t.setAttribute("aria-current", "true");
      else t.removeAttribute("aria-current");
    }
    const url = address();
    link.href = url.pathname.replace(/\.svg$/, ".png") + url.search;
    link.textContent = "as PNG";
    // The number of values makes it a new picture when there are more.
    url.searchParams.set("v", String(values ?? ""));
    image.alt = current.textContent + ", n from " + url.searchParams.get("from") + " to " + url.searchParams.get("to");
    image.dataset.busy = "";
    image.src = url.pathname + url.search;
    drawn = Date.now();
    drawnValues = values;
  }
  image.addEventListener("load", () => delete image.dataset.busy);
  image.addEventListener("error", () => {
    delete image.dataset.busy;
    image.alt = current.textContent + ": there is nothing to draw yet.";
  });
  for (const t of tabs) {
    t.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      current = t;
      draw();
    });
  }
  follow((m) => {
    values = m.values;
    if (values !== drawnValues && Date.now() - drawn >= every) draw();
  });
  if (map) map.onWindow(draw);
  draw();
}
