// Event time: how far each operator's watermark has come, what fires, and what comes too late.

import { h } from "../dom.js";
import { count, duration, ended, eventTime, unset } from "../format.js";
import { chooser, empty, section, table } from "../parts.js";
import { plot } from "../plot.js";

const KEPT = 10 * 60_000;
const SPANS = [["60000", "minute"], ["180000", "3 minutes"], ["600000", "10 minutes"]];
const FAR = 24 * 3600_000; // A watermark a day behind the clock is a replay of old data.
const [AT, MARK, IN, LATE, FIRED, ROWS] = [0, 1, 2, 3, 4, 5];

export function timeline(context) {
  const { api, root } = context;
  const marks = plot({
    title: "Event time reached", hint: "The watermark of each operator, over the wall clock. A line that stays flat waits for something.",
    x: "time", yTimes: true, show: (value) => eventTime(value), height: 260, sync: "time",
    whenEmpty: "No operator has a watermark yet. Watermarks come from assign_timestamps_and_watermarks(...).",
  });
  const lag = plot({
    title: "Behind", hint: "How far each watermark is behind the clock, or behind the foremost watermark where old data is read.",
    x: "time", show: (value) => duration(Math.max(0, value)), height: 160, sync: "time", whenEmpty: "Nothing to compare yet.",
  });
  const fired = plot({
    title: "Windows and timers fired", hint: "Per second.", x: "time", show: (value) => `${count(Math.round(value * 10) / 10)}/s`, height: 140, sync: "time",
    whenEmpty: "No window or timer has fired yet.",
  });
  const late = plot({
    title: "Late records dropped", hint: "In total. They came after their window was closed: allow lateness, or send them to a side output.",
    x: "time", show: count, height: 140, sync: "time", whenEmpty: "No record has come too late.",
  });
  const rows = plot({ title: "State", hint: "Entries that each operator keeps.", x: "time", show: count, height: 140, sync: "time", whenEmpty: "No operator keeps state by key." });
  const now = table({
    caption: "Event time by operator", keyOf: (row) => row.id,
    columns: [
      { title: "Operator", show: (row) => row.name, wide: true },
      { title: "Watermark", number: true, show: (row) => eventTime(row.mark) },
      { title: "Behind the clock", number: true, show: (row) => (unset(row.mark) || ended(row.mark) ? "–" : duration(Math.max(0, row.at - row.mark))) },
      { title: "Records in", number: true, show: (row) => count(row.in) },
      { title: "Fired", number: true, show: (row) => count(row.fired) },
      { title: "Late, dropped", number: true, show: (row) => count(row.late) },
      { title: "State entries", number: true, show: (row) => count(row.rows) },
    ],
    whenEmpty: empty("Nothing has been measured yet.", "Numbers come with the first batch."),
  });
  const element = h("div", null, section("Over time", null, h("div", { class: "row" }, chooser("The last", SPANS, "180000", (value) => { span = Number(value); draw(); })), marks.element, lag.element, fired.element, late.element, rows.element), section("Now", "The same as numbers, by operator.", now.element));
  const operators = new Map();
  let since = 0, span = 180_000;

  function take(answer) {
    for (const { id, name, points } of answer?.operators ?? []) {
      const known = operators.get(id) ?? { id, name, points: [] };
      operators.set(id, known);
      const after = known.points.length ? known.points[known.points.length - 1][AT] : -1;
      known.points.push(...points.filter((point) => point[AT] > after));
      if (points.length) since = Math.max(since, points[points.length - 1][AT]);
    }
    for (const operator of operators.values()) {
      const first = operator.points.findIndex((point) => point[AT] >= since - KEPT);
      if (first > 0) operator.points.splice(0, first);
    }
  }

  // All operators on one axis: at each time the latest point of each.
  function aligned(list, pick) {
    const xs = [...new Set(list.flatMap((operator) => operator.points.map((point) => point[AT])))].filter((x) => x >= since - span).sort((a, b) => a - b);
    return [xs, list.map((operator) => {
      let next = 0, last = null;
      return {
        label: operator.name,
        colour: operator.colour,
        values: xs.map((x) => {
          while (next < operator.points.length && operator.points[next][AT] <= x) { last = operator.points[next]; next += 1; }
          return last === null ? null : pick(last);
        }),
      };
    })];
  }

  function drawMarks(list) {
    const open = (point) => (unset(point[MARK]) || ended(point[MARK]) ? null : point[MARK]);
    const timed = list.filter((operator) => operator.points.some((point) => open(point) !== null));
    const [xs, series] = aligned(timed, open);
    const highest = Math.max(...series.flatMap((each) => each.values.filter((value) => value !== null)));
    const live = xs.length > 0 && Math.abs(xs[xs.length - 1] - highest) < FAR;
    const wall = { label: "wall clock", values: xs, dash: [4, 4], line: true };
    const steps = series.map((each) => ({ ...each, steps: true }));
    marks.update(xs, live && series.length ? [...steps, wall] : steps);
    const foremost = xs.map((x, i) => (live ? x : Math.max(...series.map((each) => each.values[i] ?? -Infinity))));
    lag.update(xs, series.map((each) => ({ label: each.label, colour: each.colour, values: each.values.map((value, i) => (value === null ? null : foremost[i] - value)) })));
  }

  function drawFired(list) {
    const firing = list.filter((operator) => operator.points.some((point) => point[FIRED] > 0));
    const [xs, totals] = aligned(firing, (point) => point[FIRED]);
    fired.update(xs, totals.map(({ label, colour, values }) => ({
      label, colour,
      values: values.map((value, i) => (i === 0 || value === null || values[i - 1] === null ? null : (Math.max(0, value - values[i - 1]) * 1000) / Math.max(1, xs[i] - xs[i - 1]))),
    })));
  }

  function draw() {
    const list = named([...operators.values()].filter((operator) => operator.points.length));
    now.update(list.map((operator) => {
      const last = operator.points[operator.points.length - 1];
      return { id: operator.id, name: operator.name, at: context.job["end-time"] > 0 ? last[AT] : context.job.now, mark: last[MARK], in: last[IN], late: last[LATE], fired: last[FIRED], rows: last[ROWS] };
    }));
    drawMarks(list);
    drawFired(list);
    late.update(...aligned(list.filter((operator) => operator.points.some((point) => point[LATE] > 0)), (point) => point[LATE]));
    rows.update(...aligned(list.filter((operator) => operator.points.some((point) => point[ROWS] > 0)), (point) => point[ROWS]));
  }

  return {
    element,
    async refresh() {
      take(await api.getIfThere(`${root}/event-time?since=${since}`));
      draw();
    },
    dispose() { for (const each of [marks, lag, fired, late, rows]) each.dispose(); },
  };
}

// Two operators of one name are told apart by a number.
function named(list) {
  const seen = new Map();
  return list.map((operator, index) => {
    const times = (seen.get(operator.name) ?? 0) + 1;
    seen.set(operator.name, times);
    // An operator has one colour in all plots.
    return { ...operator, colour: `--series-${(index % 8) + 1}`, name: times === 1 ? operator.name : `${operator.name} (${times})` };
  });
}

