// Elements without markup in strings: what comes from a job is always text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Leaves an equal text alone, so that a reader's selection survives the next refresh.
export function setText(element, text) {
  const next = String(text);
  if (element.textContent !== next) element.textContent = next;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

// Puts new content in place only where it differs: the focus stays where it is.
export function patch(element, ...children) {
  const next = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
  const now = [...element.childNodes];
  const same = now.length === next.length && now.every((child, i) => child.isEqualNode(next[i]));
  if (!same) element.replaceChildren(...next);
}

let made = 0;
export const uniqueId = (prefix) => `${prefix}-${++made}`;
