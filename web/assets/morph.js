// Turns one piece of a page into another with as few changes as can be, so that
// focus, selection, scroll positions and open details stay where they are.

const policy = window.trustedTypes
  ? trustedTypes.createPolicy("nsweep", { createHTML: (html) => html })
  : { createHTML: (html) => html };

// morph makes the children of target those that html describes. The html comes
// from our own server, which has escaped what is not its own.
export function morph(target, html) {
  const next = new DOMParser().parseFromString(policy.createHTML(html), "text/html").body;
  children(target, next);
}

function children(a, b) {
  const byID = new Map();
  for (const c of a.children) {
    if (c.id) byID.set(c.id, c);
  }
  let at = a.firstChild;
  for (const n of [...b.childNodes]) {
    const m = n.id ? byID.get(n.id) : at && alike(at, n) ? at : null;
    if (!m || m.nodeName !== n.nodeName) {
      a.insertBefore(document.adoptNode(n), at);
      continue;
    }
    if (m === at) at = at.nextSibling;
    else a.insertBefore(m, at);
    node(m, n);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function alike(m, n) {
  return m.nodeType === n.nodeType && m.nodeName === n.nodeName && !m.id;
}

function node(m, n) {
  if (m.nodeType !== Node.ELEMENT_NODE) {
    if (m.nodeValue !== n.nodeValue) m.nodeValue = n.nodeValue;
    return;
  }
  // A time shows the reader's own clock instead of what the server wrote.
  if (m.nodeName === "TIME" && m.dateTime === n.dateTime && m.className === n.className) return;
  for (const { name } of [...m.attributes]) {
    if (!n.hasAttribute(name) && !(name === "open" && m.nodeName === "DETAILS")) m.removeAttribute(name);
  }
  for (const { name, value } of n.attributes) {
    if (m.getAttribute(name) !== value) m.setAttribute(name, value);
  }
  children(m, n);
}
