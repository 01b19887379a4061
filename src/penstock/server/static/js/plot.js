// Plots (uPlot), each with a legend that reads the values and a table that says the same in text.

import { h, replace, setText } from "./dom.js";
import { clock, day } from "./format.js";

/* global uPlot */

const TIME_STEPS = [1, 5, 10, 50, 100, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3,
  1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3, 2592000e3, 31536000e3];
const TABLE_ROWS = 30;
// Round numbers of bytes.
export const BYTE_STEPS = Array.from({ length: 44 }, (_, i) => 2 ** i);

// A canvas does not know the page's variables: a probe says which colour one is now.
const probe = h("span", { hidden: true });
function variable(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
const colour = (each, index) => variable(each.colour ?? `--series-${(index % 8) + 1}`);

// Labels of a time axis: the day once, where there are several.
export function timeLabels(values) {
  const days = new Set(values.map(day));
  return values.map((value) => (days.size > 1 ? `${day(value).slice(5)} ${clock(value).slice(0, 5)}` : clock(value)));
}

// options: {title, hint, x: "time" | "number", xLabel, show(value) -> text, yTimes, steps, stacked, height, sync}
export function plot(options) {
  const legend = h("ul", { class: "legend" });
  const surface = h("div", { class: "surface", role: "img", "aria-label": options.title });
  const wait = h("p", { class: "plot-wait" }, options.whenEmpty ?? "Waiting for the first numbers …");
  const rows = h("div");
  const details = h("details", { class: "as-table", ontoggle: () => fillTable() }, h("summary", null, "As a table"), rows);
  const element = h("figure", { class: "plot" },
    h("figcaption", null, h("span", { class: "plot-title" }, options.title), options.hint ? h("span", { class: "hint" }, options.hint) : null),
    legend, wait, surface, details);
  let chart = null, shape = "", xs = [], series = [], items = [];
  const hidden = new Set();

  function stackedValues() {
    const sums = xs.map(() => 0);
    const tops = series.filter((each) => !each.line).map((each) => each.values.map((value, i) => (sums[i] += value ?? 0)));
    // The highest is painted first, the others over it.
    return [...tops.reverse(), ...series.filter((each) => each.line).map((each) => each.values)];
  }

  function drawn() {
    return [xs, ...(options.stacked ? stackedValues() : series.map((each) => each.values))];
  }

  function seriesOptions() {
    const style = (each, index) => each.line || !options.stacked
      ? { label: each.label, stroke: each.line ? variable("--ink") : colour(each, index), width: each.line ? 1.5 : 1.75,
          dash: each.dash, points: { show: (u) => u.data[0].length < 3, size: 6 }, spanGaps: false, show: !hidden.has(each.label),
          paths: each.steps ? uPlot.paths.stepped({ align: 1 }) : undefined }
      : { label: each.label, fill: colour(each, index), stroke: colour(each, index), width: 0, points: { show: false },
          paths: uPlot.paths.bars({ size: [0.86, 28], gap: 0 }) };
    const styles = series.map(style);
    if (!options.stacked) return styles;
    const bars = styles.filter((_, i) => !series[i].line).reverse();
    return [...bars, ...styles.filter((_, i) => series[i].line)];
  }

  function axis(vertical) {
    const times = vertical ? options.yTimes : options.x === "time";
    return {
      stroke: variable("--ink-2"), font: `11px ${getComputedStyle(document.body).fontFamily}`, ticks: { show: false }, gap: 6,
      grid: { show: vertical, stroke: variable("--grid"), width: 1 },
      incrs: times ? TIME_STEPS.filter((step) => vertical || step >= 1000) : vertical ? options.steps : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1e4, 1e5, 1e6], space: vertical ? 36 : 90,
      values: (_, splits) => (times ? timeLabels(splits) : splits.map((split) => (vertical ? options.show(split) : String(split)))),
      size: vertical ? (_, labels) => 16 + 6.6 * Math.max(4, ...(labels ?? []).map((label) => label.length)) : 26,
    };
  }

  function build() {
    chart?.destroy();
    chart = new uPlot({
      width: Math.max(200, surface.clientWidth), height: options.height ?? 200, ms: 1, padding: [8, 8, 0, 0],
      legend: { show: false }, series: [{}, ...seriesOptions()],
      scales: { x: { time: false, range: options.stacked ? (_, low, high) => [low - 0.6, high + 0.6] : undefined },
                y: { range: options.range ?? (options.yTimes ? undefined : (_, low, high) => [Math.min(0, low ?? 0), (high ?? 1) > 0 ? high * 1.08 : 1]) } },
      axes: [axis(false), axis(true)],
      cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 }, sync: options.sync ? { key: options.sync } : undefined },
      hooks: { setCursor: [(u) => showValues(u.cursor.idx)] },
    }, drawn(), surface);
  }

  function showValues(index) {
    const at = index ?? xs.length - 1;
    items.forEach((item, i) => setText(item, at >= 0 && series[i].values[at] !== null && series[i].values[at] !== undefined
      ? (series[i].show ?? options.show)(series[i].values[at]) : "–"));
  }

  function toggle(label, button) {
    if (hidden.has(label)) hidden.delete(label); else hidden.add(label);
    button.setAttribute("aria-pressed", String(!hidden.has(label)));
    build();
  }

  function buildLegend() {
    items = series.map(() => h("span", { class: "legend-value" }));
    replace(legend, series.map((each, i) => {
      const mark = h("span", { class: each.line ? "swatch line" : "swatch", "aria-hidden": "true", style: { background: each.line ? variable("--ink") : colour(each, i) } });
      if (options.stacked) return h("li", null, mark, each.label, items[i]);
      const button = h("button", { type: "button", class: "legend-button", "aria-pressed": String(!hidden.has(each.label)), title: "Show or hide this line" }, mark, each.label, items[i]);
      button.addEventListener("click", () => toggle(each.label, button));
      return h("li", null, button);
    }));
  }

  function fillTable() {
    if (!details.open) return;
    const first = Math.max(0, xs.length - TABLE_ROWS);
    const showX = (value) => (options.x === "time" ? clock(value) : String(value));
    replace(rows, h("div", { class: "table-box", tabindex: "0" }, h("table", { class: "data plain" },
      h("caption", { class: "sr" }, options.title),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, options.xLabel ?? "Time"), series.map((each) => h("th", { scope: "col", class: "number" }, each.label)))),
      h("tbody", null, xs.slice(first).map((x, i) => h("tr", null, h("th", { scope: "row" }, showX(x)),
        series.map((each) => h("td", { class: "number" }, each.values[first + i] === null || each.values[first + i] === undefined ? "–" : (each.show ?? options.show)(each.values[first + i])))))))));
  }

  // series: [{label, values, colour, dash, line, show}]
  function update(nextXs, nextSeries) {
    xs = nextXs;
    series = nextSeries;
    const something = xs.length > 0 && series.length > 0;
    wait.hidden = something;
    surface.hidden = legend.hidden = details.hidden = !something;
    if (!something) return;
    const nextShape = series.map((each) => each.label).join("\n");
    if (!chart || nextShape !== shape) { shape = nextShape; buildLegend(); build(); }
    else chart.setData(drawn());
    showValues(chart.cursor.idx);
    const last = xs.length - 1;
    surface.setAttribute("aria-label", `${options.title}. Now: ${series.slice(0, 8).map((each) => `${each.label} ${each.values[last] === null || each.values[last] === undefined ? "none" : (each.show ?? options.show)(each.values[last])}`).join(", ")}`);
    // A table that is being read is not changed under the reader.
    if (details.open && !details.contains(document.activeElement)) fillTable();
  }

  const observer = new ResizeObserver(() => {
    if (chart && surface.clientWidth > 0 && chart.width !== surface.clientWidth) chart.setSize({ width: surface.clientWidth, height: options.height ?? 200 });
  });
  observer.observe(surface);
  const recolour = () => { if (chart) { buildLegend(); build(); showValues(null); } };
  document.addEventListener("themechange", recolour);
  return {
    element, update,
    dispose() { observer.disconnect(); document.removeEventListener("themechange", recolour); chart?.destroy(); },
  };
}
