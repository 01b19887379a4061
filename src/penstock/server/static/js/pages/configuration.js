// With which settings the job runs.

import { h, replace } from "../dom.js";
import { duration } from "../format.js";
import { code, definitions, empty, section, table } from "../parts.js";

export function configuration(context) {
  const { api, root } = context;
  const body = h("div");
  let wanted = "";
  const search = h("input", { type: "search", placeholder: "Search settings", "aria-label": "Search settings", oninput: () => { wanted = search.value.toLowerCase(); showSettings(); } });
  const settings = table({
    caption: "Settings", keyOf: (row) => row[0],
    columns: [{ title: "Key", show: (row) => code(row[0]), wide: true }, { title: "Value", show: (row) => code(row[1]), wide: true }],
    whenEmpty: empty("No such setting.", "Settings come from the program, the command line (", code("-D key=value"), ") and the configuration file."),
  });
  const element = h("div", null, section("How the job runs", null, body), section("Settings", "Values of keys that look secret are hidden.", h("div", { class: "row" }, search), settings.element));
  let all = null;

  function showSettings() {
    settings.update((all ?? []).filter(([key, value]) => `${key} ${value}`.toLowerCase().includes(wanted)));
  }

  const FACTS = [["execution-mode", "Mode"], ["restart-strategy", "After a failure"], ["job-parallelism", "Parallelism"], ["object-reuse-mode", "Objects are reused"]];

  return {
    element,
    async refresh() {
      if (all) return;
      const [config, checkpoints, listed] = await Promise.all(["config", "checkpoints/config", "jobmanager/config"].map((path) => api.getIfThere(`${root}/${path}`)));
      const execution = config?.["execution-config"] ?? {};
      const pairs = new Map([...(listed ?? []).map(({ key, value }) => [key, value]), ...Object.entries(execution["user-config"] ?? {})]);
      all = [...pairs].sort(([a], [b]) => a.localeCompare(b));
      const readable = (value) => (value === true ? "yes" : value === false ? "no" : String(value));
      const told = FACTS.filter(([key]) => execution[key] !== undefined && execution[key] !== null).map(([key, name]) => [name, readable(execution[key])]);
      if (checkpoints?.interval > 0 && checkpoints.interval < 9e15) told.push(["Checkpoint every", duration(checkpoints.interval)]);
      if (checkpoints?.mode) told.push(["Guarantee", checkpoints.mode.replaceAll("_", " ")]);
      if (checkpoints?.state_backend) told.push(["State is kept in", String(checkpoints.state_backend)]);
      replace(body, told.length ? definitions(told) : empty("Nothing is known of how the job runs."));
      showSettings();
    },
  };
}
