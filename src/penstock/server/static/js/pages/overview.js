// All jobs of the session, and what it has to run them on.

import { h } from "../dom.js";
import { duration, time, TERMINAL } from "../format.js";
import { code, empty, figures, section, statePill, table } from "../parts.js";

export function overview({ config, api, announce }) {
  const history = Boolean(config.features?.["web-history"]);
  const numbers = figures([
    { key: "running", label: "Running" },
    { key: "finished", label: "Finished" },
    { key: "cancelled", label: "Cancelled" },
    { key: "failed", label: "Failed" },
    { key: "slots", label: "Free slots", hint: "A slot runs one parallel part of each stage" },
    { key: "workers", label: "Workers", hint: "Processes that run the jobs' functions" },
  ], "The session in numbers");
  const states = new Map();

  const jobLink = (job) => h("a", { href: `#/jobs/${job.jid}/graph` }, job.name);
  const tasks = (job) => {
    const all = job.tasks ?? {};
    return all.total === undefined ? "–" : `${all.running ?? 0} of ${all.total}`;
  };
  const common = [
    { title: "Job", show: jobLink, wide: true },
    { title: "State", show: (job) => statePill(job.state) },
    { title: "Started", show: (job) => time(job["start-time"]) },
  ];
  const running = table({
    caption: "Running jobs", keyOf: (job) => job.jid,
    columns: [...common,
      { title: "Running for", number: true, show: (job) => duration(job.duration) },
      { title: "Tasks running", number: true, show: tasks },
      { title: "Id", show: (job) => code(job.jid) }],
    whenEmpty: empty("No job is running.", "Start one with ", code("penstock run my_program.py"),
      config.features?.["web-submit"] ? [", or ", h("a", { href: "#/submit" }, "submit a script here"), "."] : "."),
  });
  const ended = table({
    caption: "Ended jobs", keyOf: (job) => job.jid,
    columns: [...common,
      { title: "Ended", show: (job) => time(job["end-time"]) },
      { title: "Took", number: true, show: (job) => duration(job.duration) },
      { title: "Id", show: (job) => code(job.jid) }],
    whenEmpty: history
      ? empty("The archive has no jobs yet.", "A job is archived when it ends, if ", code("jobmanager.archive.fs.dir"), " is set for it.")
      : empty("No job has ended yet.", "Jobs that finish, fail or are cancelled stay here to be looked at."),
  });
  const broken = h("div");
  const element = h("div", { class: "page" },
    h("h1", null, history ? "Ended jobs" : "Overview"),
    broken,
    history ? null : numbers.element,
    history ? null : section("Running jobs", null, running.element),
    section(history ? "Archive" : "Ended jobs", null, ended.element));

  function tellChanges(jobs) {
    for (const job of jobs) {
      const before = states.get(job.jid);
      if (before && before !== job.state) announce(`${job.name} is now ${job.state.toLowerCase()}`);
      states.set(job.jid, job.state);
    }
  }

  function showBroken(files) {
    broken.replaceChildren(...(files ?? []).map((file) =>
      h("p", { class: "notice bad" }, h("strong", null, `${file.name} cannot be read: `), file.reason)));
  }

  return {
    title: history ? "Ended jobs" : "Overview", element,
    async refresh() {
      const [{ jobs }, summary] = await Promise.all([api.get("jobs/overview"), history ? null : api.getIfThere("overview")]);
      tellChanges(jobs);
      const latestFirst = [...jobs].sort((a, b) => b["start-time"] - a["start-time"]);
      running.update(latestFirst.filter((job) => !TERMINAL.has(job.state)));
      ended.update(latestFirst.filter((job) => TERMINAL.has(job.state)));
      if (history) showBroken((await api.getIfThere("archives"))?.broken);
      if (summary) {
        numbers.update({
          running: summary["jobs-running"], finished: summary["jobs-finished"], cancelled: summary["jobs-cancelled"], failed: summary["jobs-failed"],
          slots: `${summary["slots-available"]} of ${summary["slots-total"]}`, workers: summary.taskmanagers,
        });
      }
    },
  };
}
