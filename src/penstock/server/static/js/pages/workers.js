// The processes that run the jobs' functions.

import { h, replace } from "../dom.js";
import { bytes, duration, NONE } from "../format.js";
import { code, definitions, empty, section, table } from "../parts.js";
import { logView } from "../logview.js";

export function workers({ parts, api }) {
  const chosen = parts[0];
  return chosen ? oneWorker(chosen, api) : allWorkers(api);
}

function allWorkers(api) {
  const list = table({
    caption: "Workers", keyOf: (worker) => worker.id,
    columns: [
      { title: "Worker", show: (worker) => h("a", { href: `#/workers/${encodeURIComponent(worker.id)}` }, worker.id), wide: true },
      { title: "Free slots", number: true, show: (worker) => `${worker.freeSlots} of ${worker.slotsNumber}` },
      { title: "Cores", number: true, show: (worker) => worker.hardware?.cpuCores },
      { title: "Memory", number: true, show: (worker) => memory(worker) },
      { title: "Last heard of", number: true, show: (worker) => heard(worker) },
    ],
    whenEmpty: empty("No worker is running.", "Workers come with the first job and go with the last."),
  });
  const element = h("div", { class: "page" }, h("h1", null, "Workers"), section("Processes that run the jobs", "Spark's executors: each runs the functions of one or several jobs.", list.element));
  return { title: "Workers", element, async refresh() { list.update((await api.get("taskmanagers")).taskmanagers ?? []); } };
}

function memory(worker) {
  const size = worker.hardware?.physicalMemory;
  return size > 0 ? bytes(size) : NONE;
}

function heard(worker) {
  const at = worker.timeSinceLastHeartbeat;
  return at > 0 ? `${duration(Math.max(0, Date.now() - at))} ago` : NONE;
}

function oneWorker(id, api) {
  const root = `taskmanagers/${encodeURIComponent(id)}`;
  const facts = h("div");
  const view = logView({ api, list: `${root}/logs`, file: (name) => `${root}/logs/${encodeURIComponent(name)}` });
  view.whenEmpty(empty("This worker has no log files of its own.", "What functions write is in the log of their job."));
  const element = h("div", { class: "page" }, h("p", { class: "back" }, h("a", { href: "#/workers" }, "All workers")), h("h1", null, id), section("Facts", null, facts), section("Logs", null, view.element));
  return {
    title: id, element,
    async refresh() {
      const worker = await api.get(root);
      const used = worker.metrics?.heapUsed;
      replace(facts, definitions([
        ["Free slots", `${worker.freeSlots} of ${worker.slotsNumber}`], ["Cores", String(worker.hardware?.cpuCores ?? NONE)],
        ["Memory of the machine", memory(worker)], ["Memory used by the JVM", bytes(used > 0 ? used : null)],
        ["Address", code(worker.path ?? id)], ["Last heard of", heard(worker)],
      ]));
      await view.refresh();
    },
    dispose() {},
  };
}
