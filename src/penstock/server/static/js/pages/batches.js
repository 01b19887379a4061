// The micro-batches that the job runs in: what each took, phase by phase, and what it carried.

import { h } from "../dom.js";
import { count, duration, eventTime, rate, time } from "../format.js";
import { empty, figures, section, table } from "../parts.js";
import { plot } from "../plot.js";

const SHOWN = 120, LISTED = 40;
// Levels run the program's own functions and are coloured; the rest is what a batch costs anyway.
const OVERHEAD = { plan: "--phase-plan", engine: "--phase-engine", record: "--phase-record", log: "--phase-log" };
const colourOf = (name) => OVERHEAD[name] ?? `--phase-level-${(Number(/\d+/.exec(name)?.[0] ?? 0) % 4) + 1}`;

export function batches(context) {
  const { api, root } = context;
  const numbers = figures([
    { key: "count", label: "Batches" },
    { key: "typical", label: "Typical", hint: "Half of the batches shown took less" },
    { key: "slow", label: "Slow", hint: "One in twenty took longer" },
    { key: "floor", label: "Floor", hint: "The fastest one: what a batch costs with little to do" },
    { key: "records", label: "Records per batch", hint: "Half of the batches shown had fewer" },
  ], "The batches in numbers");
  const phases = plot({
    title: "Time by phase", hint: "Each bar is one batch. Levels run the functions of the program, the grey phases are the engine's. The dashed line is the floor: the fastest batch.",
    x: "number", xLabel: "Batch", show: duration, stacked: true, height: 240, sync: "batches",
    whenEmpty: "No batch has run yet. A job without input runs none.",
  });
  const records = plot({ title: "Records", hint: "Read by the sources, and taken by the sinks, per batch.", x: "number", xLabel: "Batch", show: count, height: 150, sync: "batches", whenEmpty: "No batch has run yet." });
  const list = table({
    caption: "The latest batches", keyOf: (batch) => batch.number,
    columns: [
      { title: "Batch", show: (batch) => String(batch.number) },
      { title: "Began", number: true, show: (batch) => time(batch.begin) },
      { title: "Took", number: true, show: (batch) => duration(batch.duration) },
      { title: "Records in", number: true, show: (batch) => count(batch["records-in"]) },
      { title: "Records out", number: true, show: (batch) => count(batch["records-out"]) },
      { title: "Speed", number: true, show: (batch) => (batch.duration > 0 ? rate((batch["records-in"] * 1000) / batch.duration) : "–") },
      { title: "Watermark", number: true, show: (batch) => eventTime(batch.watermark) },
      { title: "Longest phase", show: longest },
    ],
    whenEmpty: empty("No batch has run yet.", "A batch begins when a source has something to read or a timer is due."),
  });
  const element = h("div", null, numbers.element, section("Phases", null, phases.element, records.element), section("Latest batches", null, list.element));
  const known = new Map();
  let since = 0;

  return {
    element,
    async refresh() {
      const answer = await api.getIfThere(`${root}/batches?since=${since}`);
      for (const batch of answer?.batches ?? []) { known.set(batch.number, batch); since = Math.max(since, batch.number); }
      const all = [...known.values()].sort((a, b) => a.number - b.number);
      const shown = all.slice(-SHOWN);
      const durations = shown.map((batch) => batch.duration).sort((a, b) => a - b);
      const names = [...new Set(shown.flatMap((batch) => Object.keys(batch.phases)))];
      const floor = durations[0];
      const xs = shown.map((batch) => batch.number);
      phases.update(xs, [
        ...names.map((name) => ({ label: name, colour: colourOf(name), values: shown.map((batch) => batch.phases[name] ?? 0) })),
        ...(shown.length > 2 ? [{ label: "floor", values: shown.map(() => floor), dash: [5, 4], line: true }] : []),
      ]);
      records.update(xs, [{ label: "in", values: shown.map((batch) => batch["records-in"]) }, { label: "out", values: shown.map((batch) => batch["records-out"]) }]);
      list.update(shown.slice(-LISTED).reverse());
      numbers.update({
        count: count(all.length ? all[all.length - 1].number + 1 : 0), typical: duration(quantile(durations, 0.5)), slow: duration(quantile(durations, 0.95)),
        floor: duration(floor), records: count(quantile(shown.map((batch) => batch["records-in"]).sort((a, b) => a - b), 0.5)),
      });
    },
    dispose() { phases.dispose(); records.dispose(); },
  };
}

function longest(batch) {
  const [name, took] = Object.entries(batch.phases).reduce((most, each) => (each[1] > most[1] ? each : most), ["", -1]);
  return took < 0 ? "–" : `${name}, ${duration(took)}`;
}

function quantile(sorted, share) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] : null;
}
