// Accumulators, and any metric as a plot.

import { h, replace } from "../dom.js";
import { count } from "../format.js";
import { chooser, code, empty, section, table } from "../parts.js";
import { plot } from "../plot.js";

const KEPT = 400;
const WHOLE_JOB = "job";

export function metrics(context) {
  const { api, root, id } = context;
  const stored = `penstock-metrics-${id}`;
  let chosen = remembered();
  let scope = WHOLE_JOB, names = [], wanted = "";
  const plots = new Map();
  const accumulators = table({
    caption: "Accumulators", keyOf: (row) => row.name,
    columns: [{ title: "Name", show: (row) => row.name, wide: true }, { title: "Kind", show: (row) => row.type }, { title: "Value", number: true, show: (row) => String(row.value) }],
    whenEmpty: empty("The job has no accumulators.", "A function adds one with ", code("get_runtime_context().add_accumulator(name, ...)"), "."),
  });
  const pick = h("span", { class: "field-inline" });
  const search = h("input", { type: "search", placeholder: "Search, e.g. numRecords", "aria-label": "Search metrics by name", oninput: () => { wanted = search.value.toLowerCase(); showNames(); } });
  const choices = h("ul", { class: "metric-names", "aria-label": "Metrics that can be plotted" });
  const shownPlots = h("div", { class: "plots" });
  const element = h("div", null,
    section("Accumulators", null, accumulators.element),
    section("Plots", "Choose what to watch. The plots begin when they are chosen.", h("div", { class: "row" }, pick, search), choices, shownPlots));

  function remembered() {
    try { return JSON.parse(sessionStorage.getItem(stored)) ?? []; } catch { return []; }
  }

  function remember() {
    sessionStorage.setItem(stored, JSON.stringify(chosen));
  }

  const path = (where) => (where === WHOLE_JOB ? `${root}/metrics` : `${root}/vertices/${where}/subtasks/metrics`);
  const keyOf = (each) => `${each.scope} ${each.name}`;
  const isChosen = (name) => chosen.some((each) => each.scope === scope && each.name === name);

  function showNames() {
    const some = names.filter((name) => name.toLowerCase().includes(wanted)).slice(0, 60);
    replace(choices, some.map((name) => h("li", null, h("button", {
      type: "button", class: "chip", "aria-pressed": String(isChosen(name)),
      onclick: () => { toggle({ scope, name, part: partName(scope) }); },
    }, name))), some.length ? null : h("li", { class: "hint" }, names.length ? "No metric has such a name." : "No metrics yet."));
  }

  function partName(where) {
    return where === WHOLE_JOB ? "" : context.job.vertices.find((vertex) => vertex.id === where)?.name ?? "";
  }

  function toggle(each) {
    if (chosen.some((other) => keyOf(other) === keyOf(each))) chosen = chosen.filter((other) => keyOf(other) !== keyOf(each));
    else chosen.push(each);
    remember();
    const focused = document.activeElement?.textContent;
    showNames();
    [...choices.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
    showPlots();
    readValues();
  }

  function showPlots() {
    for (const [key, each] of plots) {
      if (!chosen.some((other) => keyOf(other) === key)) { each.view.dispose(); each.view.element.remove(); plots.delete(key); }
    }
    for (const each of chosen) {
      if (plots.has(keyOf(each))) continue;
      const view = plot({ title: each.name, hint: each.part || null, x: "time", show: count, height: 150, sync: "metrics" });
      plots.set(keyOf(each), { view, xs: [], columns: new Map() });
      shownPlots.append(view.element);
    }
  }

  async function readNames() {
    const list = await api.getIfThere(path(scope));
    names = (list ?? []).map((metric) => metric.id).sort((a, b) => a.localeCompare(b));
    showNames();
  }

  // A part has one value for each subtask: the least, the mean and the most are drawn.
  function valuesOf(metric) {
    const numbers = metric.value !== undefined
      ? { value: metric.value }
      : { least: metric.min, mean: metric.avg, most: metric.max };
    return Object.entries(numbers).map(([name, value]) => [name, Number(value)]).filter(([, value]) => Number.isFinite(value));
  }

  async function readValues() {
    const scopes = [...new Set(chosen.map((each) => each.scope))];
    await Promise.all(scopes.map(async (where) => {
      const mine = chosen.filter((each) => each.scope === where);
      const answer = await api.getIfThere(`${path(where)}?get=${mine.map((each) => encodeURIComponent(each.name)).join(",")}`);
      for (const metric of answer ?? []) {
        const kept = plots.get(`${where} ${metric.id}`);
        if (kept) addPoint(kept, valuesOf(metric));
      }
    }));
  }

  function addPoint(kept, values) {
    if (!values.length) return;
    const length = kept.xs.push(Date.now());
    for (const [name, value] of values) {
      const column = kept.columns.get(name) ?? new Array(length - 1).fill(null);
      kept.columns.set(name, column);
      column.push(value);
    }
    for (const column of kept.columns.values()) {
      while (column.length < length) column.push(null);
      if (length > KEPT) column.shift();
    }
    if (length > KEPT) kept.xs.shift();
    kept.view.update(kept.xs, [...kept.columns].map(([label, column]) => ({ label, values: column })));
  }

  let scopes = "";
  function showScopes() {
    const options = [[WHOLE_JOB, "The whole job"], ...context.job.vertices.map((vertex) => [vertex.id, vertex.name])];
    if (scopes === options.join()) return;
    scopes = options.join();
    replace(pick, chooser("Metrics of", options, scope, (value) => { scope = value; readNames(); }));
    readNames();
  }

  showPlots();
  return {
    element,
    async refresh() {
      showScopes();
      const answer = await api.getIfThere(`${root}/accumulators`);
      accumulators.update(answer?.["user-task-accumulators"] ?? []);
      if (chosen.length) await readValues();
    },
    dispose() { for (const each of plots.values()) each.view.dispose(); },
  };
}
