// The graph with live numbers: what each part reads and writes, how busy it is, and whether its
// subtasks share the work evenly.

import { h, replace, setText } from "../dom.js";
import { bytes, count, ended, eventTime, percent, rate, TERMINAL, unset } from "../format.js";
import { graphView } from "../graph.js";
import { section, statePill, table } from "../parts.js";

const SKEWED = 2; // The fullest subtask has twice the mean: worth a word.
const BARS = 24;

export function graph(context) {
  const { api, root, rates } = context;
  const view = graphView({ fillCard, onChoose: choose });
  const details = h("div");
  const operators = table({
    caption: "Parts of the job", keyOf: (row) => row.id,
    columns: [
      { title: "Part", show: (row) => row.name, wide: true },
      { title: "State", show: (row) => statePill(row.status) },
      { title: "Subtasks", number: true, show: (row) => row.parallelism },
      { title: "Records in", number: true, show: (row) => count(row.in) },
      { title: "Records out", number: true, show: (row) => count(row.out) },
      { title: "Watermark", number: true, show: (row) => eventTime(row.watermark) },
      { title: "Busy", number: true, show: (row) => percent(row.busy) },
      { title: "Held back", number: true, show: (row) => percent(row.backpressured), hint: "Waiting because a later part is slower" },
      { title: "Skew", number: true, show: (row) => skewText(row.skew), hint: "Records of the fullest subtask against the mean" },
    ],
  });
  const element = h("div", null,
    h("p", { class: "hint key" },
      h("span", null, h("i", { class: "key-busy" }), "busy"), h("span", null, h("i", { class: "key-back" }), "held back by a later part"),
      h("span", null, h("i", { class: "key-idle" }), "waiting for input"), h("span", null, "upright bars: records by subtask")),
    view.element, details, section("All parts", "The graph in words.", operators.element));
  let chosen = null, known = "", layout = null, subtaskTable = null, since = 0;
  const marks = new Map(); // by operator: its latest point

  function fillCard(node) {
    const value = (name) => h("b", { "data-value": name }, "–");
    const cells = Object.fromEntries(["in", "inRate", "out", "outRate", "watermark", "busy", "skew"].map((name) => [name, value(name)]));
    const load = { busy: h("i", { class: "load-busy" }), back: h("i", { class: "load-back" }) };
    const bars = h("span", { class: "bars", "aria-hidden": "true" });
    const several = node.operators?.length > 1;
    const lines = several ? node.operators.slice(1).map((each) => ({ id: each.id, name: each.name, records: h("b", null, "–") })) : [];
    const element = h("span", { class: "card-body" },
      h("span", { class: "card-head" }, h("span", { class: "card-name", title: node.name }, several ? node.operators[0].name : node.name), h("span", { class: "badge", title: "Parallel subtasks" })),
      lines.length ? h("span", { class: "chain" }, lines.map((line) => h("span", { class: "chain-line", title: line.name }, h("span", null, "→ ", line.name), line.records))) : null,
      h("span", { class: "card-io" },
        h("span", null, h("small", null, "in"), cells.in, cells.inRate),
        h("span", null, h("small", null, "out"), cells.out, cells.outRate)),
      h("span", { class: "card-mark" }, h("small", null, "watermark"), cells.watermark),
      h("span", { class: "card-skew" }, bars, cells.skew),
      h("span", { class: "load" }, load.busy, load.back),
      h("span", { class: "card-load" }, cells.busy));

    function update(row, whole) {
      setText(element.querySelector(".badge"), `×${row.parallelism}`);
      setText(cells.in, count(row.in));
      setText(cells.inRate, rate(row.inRate));
      setText(cells.out, count(row.out));
      setText(cells.outRate, rate(row.outRate));
      setText(cells.watermark, eventTime(row.watermark));
      setText(cells.skew, row.skew === null ? "" : `skew ${skewText(row.skew)}`);
      cells.skew.classList.toggle("warn", row.skew !== null && row.skew >= SKEWED);
      setText(cells.busy, row.busy === null ? "" : `busy ${percent(row.busy)}${row.backpressured > 0.05 ? `, held back ${percent(row.backpressured)}` : ""}`);
      load.busy.style.width = `${Math.min(100, (row.busy ?? 0) * 100)}%`;
      load.back.style.width = `${Math.min(100, (row.backpressured ?? 0) * 100)}%`;
      whole.dataset.heat = heat(row);
      drawBars(bars, row.shares);
      for (const line of lines) setText(line.records, count(marks.get(line.id)?.[2]));
    }
    return { element, update };
  }

  function drawBars(bars, shares) {
    const some = (shares ?? []).length > 1 ? shares.slice(0, BARS) : [];
    const most = Math.max(1, ...some);
    while (bars.children.length > some.length) bars.lastChild.remove();
    while (bars.children.length < some.length) bars.append(h("i"));
    some.forEach((share, i) => { bars.children[i].style.height = `${Math.max(6, (share / most) * 100)}%`; });
  }

  function heat(row) {
    if (row.status === "FAILED") return "failed";
    if (row.backpressured > 0.5) return "back";
    if (row.busy === null) return "none";
    return row.busy > 0.8 ? "hot" : row.busy > 0.5 ? "warm" : "calm";
  }

  function rowOf(vertex, detail, at) {
    const metrics = vertex.metrics ?? {};
    const over = TERMINAL.has(context.job.state);
    const share = (name) => {
      const total = Number(metrics[`accumulated-${name}-time`]);
      if (!Number.isFinite(total)) return null;
      const perSecond = rates.add(`${name} ${vertex.id}`, total, at);
      const whole = over ? total / Math.max(1, context.job.duration) : perSecond === null ? null : perSecond / 1000;
      return whole === null ? null : Math.min(1, whole / Math.max(1, vertex.parallelism));
    };
    const shares = (detail?.subtasks ?? []).map((each) => Number(each.metrics?.["read-records"] ?? 0));
    const total = shares.reduce((all, each) => all + each, 0);
    const skew = shares.length > 1 && total > 0 ? Math.max(...shares) / (total / shares.length) : null;
    const now = (key, value) => (over ? null : rates.add(`${key} ${vertex.id}`, value, at));
    return {
      id: vertex.id, name: vertex.name, status: vertex.status, parallelism: vertex.parallelism,
      in: metrics["read-records"], out: metrics["write-records"],
      inRate: now("in", Number(metrics["read-records"] ?? 0)), outRate: now("out", Number(metrics["write-records"] ?? 0)),
      busy: share("busy"), backpressured: share("backpressured"), watermark: lowestMark(vertex.id), shares, skew,
    };
  }

  // A chain's watermark: the lowest of its operators that have one.
  function lowestMark(vertex) {
    const node = layout?.nodes.find((each) => each.id === vertex);
    const all = (node?.operators ?? [{ id: vertex }]).map((each) => marks.get(each.id)?.[1]).filter((mark) => !unset(mark));
    const open = all.filter((mark) => !ended(mark));
    return open.length ? Math.min(...open) : all.length ? all[0] : null;
  }

  async function readMarks() {
    const answer = await api.getIfThere(`${root}/event-time?since=${since}`);
    for (const operator of answer?.operators ?? []) {
      const last = operator.points[operator.points.length - 1];
      if (!last) continue;
      marks.set(operator.id, last);
      since = Math.max(since, last[0]);
    }
  }

  function choose(id) {
    chosen = chosen === id ? null : id;
    view.choose(chosen);
    subtaskTable = null;
    replace(details);
    if (chosen) { showSubtasks(); details.scrollIntoView({ block: "nearest", behavior: "smooth" }); }
  }

  let latest = new Map();
  function showSubtasks() {
    const detail = latest.get(chosen);
    if (!detail) return;
    if (!subtaskTable) {
      subtaskTable = table({
        caption: `Subtasks of ${detail.name}`, keyOf: (row) => row.subtask,
        columns: [
          { title: "Subtask", show: (row) => String(row.subtask) },
          { title: "State", show: (row) => statePill(row.status) },
          { title: "Records in", number: true, show: (row) => count(row.metrics?.["read-records"]) },
          { title: "Records out", number: true, show: (row) => count(row.metrics?.["write-records"]) },
          { title: "Bytes in", number: true, show: (row) => bytes(row.metrics?.["read-bytes"]) },
          { title: "Bytes out", number: true, show: (row) => bytes(row.metrics?.["write-bytes"]) },
          { title: "Attempt", number: true, show: (row) => String((row.attempt ?? 0) + 1) },
          { title: "Worker", show: (row) => row["taskmanager-id"] || row.endpoint || row.host },
        ],
      });
      const close = h("button", { type: "button", onclick: () => choose(chosen) }, "Close");
      replace(details, h("div", { class: "subtasks" }, section(`Subtasks of ${detail.name}`, null, subtaskTable.element), close));
    }
    subtaskTable.update(detail.subtasks ?? []);
  }

  return {
    element,
    async refresh() {
      const { vertices, now } = context.job;
      const key = vertices.map((vertex) => `${vertex.id} ${vertex.parallelism}`).join();
      const asked = vertices.map((vertex) => api.getIfThere(`${root}/vertices/${vertex.id}`));
      if (key !== known) {
        layout = await api.get(`${root}/layout`);
        known = key;
        view.setLayout(layout);
        view.choose(chosen);
      }
      const [details] = await Promise.all([Promise.all(asked), readMarks()]);
      latest = new Map(vertices.map((vertex, i) => [vertex.id, details[i]]));
      const rows = vertices.map((vertex, i) => rowOf(vertex, details[i], now));
      rows.forEach((row) => view.update(row.id, row));
      operators.update(rows);
      if (chosen) showSubtasks();
    },
    dispose: view.dispose,
  };
}

function skewText(skew) {
  return skew === null ? "–" : `${skew.toFixed(1)}×`;
}
