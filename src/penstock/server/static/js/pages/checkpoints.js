// Checkpoints and savepoints: when, how large, how long, and from which the job went on.

import { h, replace } from "../dom.js";
import { bytes, count, duration, time } from "../format.js";
import { code, definitions, empty, figures, section, statePill, table } from "../parts.js";
import { BYTE_STEPS, plot } from "../plot.js";

export function checkpoints(context) {
  const { api, root } = context;
  const numbers = figures([
    { key: "completed", label: "Completed" }, { key: "failed", label: "Failed" },
    { key: "restored", label: "Went on from one", hint: "How often the job was continued from a checkpoint or savepoint" },
    { key: "took", label: "Took, typically" }, { key: "size", label: "State now" },
  ], "The checkpoints in numbers");
  const sizes = plot({ title: "State", hint: "Size of the whole state, and what each checkpoint wrote.", x: "time", show: bytes, steps: BYTE_STEPS, height: 150, sync: "checkpoints", whenEmpty: "No checkpoint has been completed yet." });
  const durations = plot({ title: "Duration", hint: "From the beginning of a checkpoint until it was safe.", x: "time", show: duration, height: 150, sync: "checkpoints", whenEmpty: "No checkpoint has been completed yet." });
  const history = table({
    caption: "Latest checkpoints", keyOf: (entry) => entry.id,
    columns: [
      { title: "Number", show: (entry) => h("button", { type: "button", class: "link", "data-checkpoint": entry.id }, String(entry.id)) },
      { title: "Kind", show: (entry) => (entry.is_savepoint ? "savepoint" : "checkpoint") },
      { title: "State", show: (entry) => statePill(entry.status) },
      { title: "Began", number: true, show: (entry) => time(entry.trigger_timestamp) },
      { title: "Took", number: true, show: (entry) => duration(entry.end_to_end_duration) },
      { title: "Whole state", number: true, show: (entry) => bytes(entry.state_size) },
      { title: "Written", number: true, show: (entry) => bytes(entry.checkpointed_size ?? entry.state_size) },
    ],
    whenEmpty: empty("No checkpoint yet.", "Every batch that has been published is one. The first comes with the first batch."),
  });
  const details = h("div");
  const restored = h("div");
  const element = h("div", null, numbers.element, restored, section("Over time", null, sizes.element, durations.element), section("History", "Choose a number for details.", history.element), details);
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-checkpoint]");
    if (button) showDetails(button.dataset.checkpoint);
  });

  async function showDetails(number) {
    const answer = await api.getIfThere(`${root}/checkpoints/details/${number}`);
    if (!answer) { replace(details, empty(`Details of ${number} are no longer kept.`)); return; }
    const names = new Map((context.job?.vertices ?? []).map((vertex) => [vertex.id, vertex.name]));
    const parts = table({
      caption: `Parts of checkpoint ${number}`, keyOf: (row) => row.id,
      columns: [
        { title: "Part", show: (row) => names.get(row.id) ?? row.id, wide: true },
        { title: "Subtasks", number: true, show: (row) => `${row.num_acknowledged_subtasks} of ${row.num_subtasks}` },
        { title: "Took", number: true, show: (row) => duration(row.end_to_end_duration) },
        { title: "Written", number: true, show: (row) => bytes(row.checkpointed_size ?? row.state_size) },
        { title: "Whole state", number: true, show: (row) => bytes(row.state_size) },
      ],
    });
    parts.update(Object.entries(answer.tasks ?? {}).map(([id, task]) => ({ id, ...task })));
    const close = h("button", { type: "button", onclick: () => replace(details) }, "Close");
    const head = section(`${answer.is_savepoint ? "Savepoint" : "Checkpoint"} ${number}`, null,
      definitions([
        ["State", statePill(answer.status)], ["Began", time(answer.trigger_timestamp)], ["Took", duration(answer.end_to_end_duration)],
        ...(answer.external_path ? [["Place", code(answer.external_path)]] : []),
        ...(answer.failure_message ? [["Failed with", answer.failure_message]] : []),
      ]), parts.element, close);
    replace(details, head);
    head.setAttribute("tabindex", "-1");
    head.focus();
  }

  return {
    element,
    async refresh() {
      const answer = await api.getIfThere(`${root}/checkpoints`);
      if (!answer) { history.update([]); return; }
      const newestFirst = [...(answer.history ?? [])].sort((a, b) => b.id - a.id);
      const done = newestFirst.filter((entry) => entry.status === "COMPLETED").reverse();
      const took = done.map((entry) => entry.end_to_end_duration).sort((a, b) => a - b);
      numbers.update({
        completed: count(answer.counts?.completed), failed: count(answer.counts?.failed), restored: count(answer.counts?.restored),
        took: duration(took.length ? took[Math.floor(took.length / 2)] : null), size: bytes(done.length ? done[done.length - 1].state_size : null),
      });
      const from = answer.latest?.restored;
      replace(restored, from ? h("p", { class: "notice" }, `Went on from ${from.is_savepoint ? "savepoint" : "checkpoint"} ${from.id} at ${time(from.restore_timestamp)}. `, from.external_path ? code(from.external_path) : null) : null);
      const xs = done.map((entry) => entry.trigger_timestamp);
      sizes.update(xs, [{ label: "whole state", values: done.map((entry) => entry.state_size) }, { label: "written", values: done.map((entry) => entry.checkpointed_size ?? null) }]);
      durations.update(xs, [{ label: "duration", values: done.map((entry) => entry.end_to_end_duration) }]);
      history.update(newestFirst);
    },
    dispose() { sizes.dispose(); durations.dispose(); },
  };
}
