// The graph of a job: cards on a plane that can be moved and zoomed, and the lines between them.

import { h, replace, svg } from "./dom.js";

const SMALLEST = 0.2, LARGEST = 1.6, STEP = 1.2;

export function graphView({ fillCard, onChoose }) {
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  const cards = h("div", { class: "cards", role: "list" });
  const plane = h("div", { class: "plane" }, lines, cards);
  const viewport = h("div", {
    class: "viewport", tabindex: "0", role: "group",
    "aria-label": "Graph of the job. Arrow keys move it, plus and minus zoom, 0 fits it in.",
  }, plane);
  const button = (label, sign, act) => h("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick: act }, sign);
  const element = h("div", { class: "graph" }, viewport, h("div", { class: "zoom" },
    button("Zoom in", "+", () => zoomAt(STEP)), button("Zoom out", "−", () => zoomAt(1 / STEP)), button("Fit the whole graph", "⤢", () => fit())));
  let page = null, scale = 1, x = 0, y = 0, touched = false;
  const byId = new Map();

  function apply() {
    plane.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
  }

  function fit() {
    if (!page || viewport.clientWidth === 0) return;
    touched = false;
    const width = viewport.clientWidth;
    const whole = Math.min(1, width / page.width);
    // On a narrow screen a card must stay readable: then the beginning is shown, and one moves on.
    scale = Math.max(whole, width < 600 ? 0.62 : 0.45);
    const height = Math.min(Math.max(page.height * scale, 200), Math.max(320, window.innerHeight * 0.62));
    viewport.style.height = `${height}px`;
    x = Math.max(0, (width - page.width * scale) / 2);
    y = Math.max(0, (height - page.height * scale) / 2);
    apply();
  }

  function zoomAt(factor, centreX = viewport.clientWidth / 2, centreY = viewport.clientHeight / 2) {
    const next = Math.min(LARGEST, Math.max(SMALLEST, scale * factor));
    x = centreX - ((centreX - x) * next) / scale;
    y = centreY - ((centreY - y) * next) / scale;
    scale = next;
    touched = true;
    apply();
  }

  function move(dx, dy) {
    x += dx;
    y += dy;
    touched = true;
    apply();
  }

  viewport.addEventListener("keydown", (event) => {
    if (event.target !== viewport) return;
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoomAt(STEP);
    else if (event.key === "-") zoomAt(1 / STEP);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  viewport.addEventListener("wheel", (event) => {
    // The wheel alone scrolls the page, as everywhere; with Ctrl (and by pinching) it zooms.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = viewport.getBoundingClientRect();
    zoomAt(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  const fingers = new Map();
  let moved = 0;
  viewport.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, event);
    moved = 0;
  });
  viewport.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > 4 && !viewport.hasPointerCapture(event.pointerId)) viewport.setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      const other = [...fingers.values()].find((each) => each.pointerId !== event.pointerId);
      const distance = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      const box = viewport.getBoundingClientRect();
      zoomAt(distance(event) / Math.max(1, distance(before)), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    } else if (moved > 4) {
      move(dx, dy);
    }
    fingers.set(event.pointerId, event);
  });
  for (const kind of ["pointerup", "pointercancel"]) viewport.addEventListener(kind, (event) => fingers.delete(event.pointerId));

  function path(points) {
    let [px, py] = points[0];
    let d = `M${px},${py}`;
    for (const [nx, ny] of points.slice(1)) {
      const bend = (nx - px) / 2;
      d += ` C${px + bend},${py} ${nx - bend},${ny} ${nx},${ny}`;
      [px, py] = [nx, ny];
    }
    return d;
  }

  function edge(each) {
    const [[x1, y1], [x2, y2]] = each.points.slice(-2);
    return svg("g", { class: "edge", "data-target": each.target },
      svg("path", { d: path(each.points), "marker-end": "url(#arrow)" }),
      svg("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 6, "text-anchor": "middle" }, each.ship.toLowerCase()));
  }

  function card(node) {
    const parts = fillCard(node);
    const whole = h("button", {
      type: "button", class: "card", "data-vertex": node.id,
      style: { left: `${node.x}px`, top: `${node.y}px`, width: `${node.width}px`, height: `${node.height}px` },
      onclick: () => { if (moved <= 4) onChoose(node.id); },
      onfocus: () => reveal(node),
    }, parts.element);
    byId.set(node.id, { whole, ...parts });
    return h("div", { role: "listitem" }, whole);
  }

  // A card that gets the focus by keyboard must be in sight.
  function reveal(node) {
    if (!byId.get(node.id)?.whole.matches(":focus-visible")) return;
    viewport.scrollTo(0, 0);
    const left = x + node.x * scale, right = left + node.width * scale;
    const top = y + node.y * scale, bottom = top + node.height * scale;
    const dx = left < 8 ? 8 - left : right > viewport.clientWidth - 8 ? viewport.clientWidth - 8 - right : 0;
    const dy = top < 8 ? 8 - top : bottom > viewport.clientHeight - 8 ? viewport.clientHeight - 8 - bottom : 0;
    if (dx || dy) move(dx, dy);
  }

  function setLayout(next) {
    page = next;
    byId.clear();
    lines.setAttribute("width", next.width);
    lines.setAttribute("height", next.height);
    replace(lines, svg("defs", null, svg("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L10,5 L0,10 z" }))),
      next.edges.map(edge));
    replace(cards, next.nodes.map(card));
    fit();
  }

  const observer = new ResizeObserver(() => { if (!touched) fit(); });
  observer.observe(element);
  return {
    element, setLayout,
    update(id, facts) { byId.get(id)?.update(facts, byId.get(id).whole); },
    choose(id) { for (const [each, { whole }] of byId) whole.setAttribute("aria-expanded", String(each === id)); },
    dispose() { observer.disconnect(); },
  };
}

