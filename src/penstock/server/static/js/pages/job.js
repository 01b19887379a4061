// One job: who it is, what can be done with it, and the tabs.

import { h, patch, replace } from "../dom.js";
import { count, duration, percent, rate, time, TERMINAL } from "../format.js";
import { ask } from "../dialog.js";
import { figures, statePill } from "../parts.js";
import { Rates } from "../rates.js";
import { savepointDone } from "../savepoints.js";
import { batches } from "./batches.js";
import { checkpoints } from "./checkpoints.js";
import { configuration } from "./configuration.js";
import { exceptions, shortReason } from "./exceptions.js";
import { graph } from "./graph.js";
import { logs } from "./logs.js";
import { metrics } from "./metrics.js";
import { timeline } from "./timeline.js";

const TABS = [
  ["graph", "Graph", graph], ["timeline", "Event time", timeline], ["batches", "Batches", batches],
  ["checkpoints", "Checkpoints", checkpoints], ["exceptions", "Exceptions", exceptions],
  ["metrics", "Metrics", metrics], ["configuration", "Configuration", configuration], ["logs", "Logs", logs],
];

export function job({ parts, config, api, announce, refresh }) {
  const id = parts[0];
  const readOnly = Boolean(config.features?.["web-history"]) || config.features?.["web-cancel"] === false;
  const name = h("h1", null, "…");
  const state = h("span");
  const facts = h("p", { class: "job-facts" });
  const actions = h("div", { class: "actions" });
  const reason = h("div");
  const numbers = figures([
    { key: "read", label: "Records read", hint: "By the sources" },
    { key: "written", label: "Records written", hint: "By the sinks" },
    { key: "busiest", label: "Busiest part", hint: "Share of its time in which it works" },
    { key: "size", label: "Size", hint: "A part is a chain of operators; a subtask is one of its parallel instances" },
  ], "The job in numbers");
  const tabs = h("nav", { class: "tabs", "aria-label": "Views of the job" });
  const inner = h("div", { class: "tab-body" });
  const element = h("div", { class: "page" },
    h("div", { class: "job-head" }, h("div", { class: "job-title" }, h("div", { class: "job-name" }, name, state), facts), actions),
    reason, numbers.element, tabs, inner);
  const totals = new Rates();
  const context = { id, api, config, announce, rates: new Rates(), root: `jobs/${id}` };
  const page = { element, title: "Job" };
  let tab = null, lastState = null, reasonFor = null;

  function show([, wanted]) {
    const [key, , make] = TABS.find(([each]) => each === wanted) ?? TABS[0];
    tab?.dispose?.();
    tab = { ...make(context), key };
    replace(inner, tab.element);
    patch(tabs, TABS.map(([each, title]) => h("a", { href: `#/jobs/${id}/${each}`, "aria-current": each === key ? "page" : null }, title)));
    // The chosen tab is in sight on a narrow screen, where the tabs scroll.
    requestAnimationFrame(() => {
      const current = tabs.querySelector("[aria-current]");
      if (current) tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
    });
  }

  function showActions(running) {
    const buttons = running && !readOnly ? [
      h("button", { type: "button", "data-action": "savepoint", onclick: savepoint }, "Savepoint"),
      h("button", { type: "button", "data-action": "stop", onclick: stop }, "Stop with savepoint"),
      h("button", { type: "button", class: "danger-quiet", "data-action": "cancel", onclick: cancel }, "Cancel"),
    ] : [];
    if (actions.childElementCount !== buttons.length) replace(actions, buttons);
  }

  const folder = { name: "folder", label: "Folder for the savepoint", hint: "Leave it empty to use the folder that the job's settings name." };

  function savepoint() {
    return ask({
      title: "Take a savepoint", text: "The job goes on. The savepoint holds its whole state; a changed program can start from it.",
      fields: [folder], confirm: "Take savepoint",
      act: async (values, tell) => {
        const { "request-id": trigger } = await api.send("POST", `${context.root}/savepoints`, { "target-directory": values.folder || null, "cancel-job": false });
        const place = await savepointDone(api, id, trigger, tell);
        announce("Savepoint taken");
        return { show: ["Savepoint taken: ", h("code", null, place)] };
      },
    }).then(refresh);
  }

  function stop() {
    return ask({
      title: "Stop with a savepoint", text: "The job takes a savepoint and ends. It can go on later from there, with nothing lost.",
      fields: [folder, { name: "drain", type: "checkbox", label: "Drain: fire all windows and timers first", hint: "Only for a job that will not go on later: results come out as if the input had ended." }],
      confirm: "Stop the job",
      act: async (values, tell) => {
        const { "request-id": trigger } = await api.send("POST", `${context.root}/stop`, { targetDirectory: values.folder || null, drain: values.drain });
        const place = await savepointDone(api, id, trigger, tell);
        announce("Job stopped");
        return { show: ["Stopped. Savepoint: ", h("code", null, place)] };
      },
    }).then(refresh);
  }

  function cancel() {
    return ask({
      title: "Cancel the job?", text: "It ends now, without a savepoint. What it has published stays.",
      confirm: "Cancel the job", danger: true,
      act: async () => { await api.send("PATCH", `${context.root}?mode=cancel`); announce("Cancelling the job"); },
    }).then(refresh);
  }

  function showNumbers(facts, done) {
    const { "records-read": read = 0, "records-written": written = 0 } = done ?? {};
    const subtasks = facts.vertices.reduce((all, vertex) => all + vertex.parallelism, 0);
    const over = TERMINAL.has(facts.state);
    const withRate = (key, total) => {
      const now = over ? (total * 1000) / Math.max(1, facts.duration) : totals.add(key, total, facts.now);
      return h("span", null, h("b", { "data-number": key }, count(total)), now === null ? null : h("small", null, rate(now)));
    };
    const busy = facts.vertices.map((vertex) => [vertex.name, (totals.add(`busy ${vertex.id}`, Number(vertex.metrics?.["accumulated-busy-time"] ?? 0), facts.now) ?? NaN) / 1000 / Math.max(1, vertex.parallelism)]);
    const [busiest, share] = busy.reduce((most, each) => (each[1] > most[1] ? each : most), ["", -1]);
    numbers.update({
      read: withRate("read", read), written: withRate("written", written),
      busiest: over || !(share >= 0) ? "–" : h("span", { title: busiest }, h("b", null, percent(Math.min(1, share))), h("small", null, busiest)),
      size: h("span", null, h("b", null, String(facts.vertices.length)), h("small", null, `${facts.vertices.length === 1 ? "part" : "parts"}, ${subtasks} ${subtasks === 1 ? "subtask" : "subtasks"}`)),
    });
  }

  async function showReason(facts) {
    const failing = ["FAILED", "FAILING", "RESTARTING"].includes(facts.state);
    if (!failing) { if (reasonFor) replace(reason); reasonFor = null; return; }
    if (reasonFor === facts.state) return;
    const answer = await api.getIfThere(`${context.root}/exceptions?maxExceptions=1`);
    const text = shortReason(answer);
    if (!text) return;
    reasonFor = facts.state;
    replace(reason, h("p", { class: "notice bad" }, h("strong", null, text), " ", h("a", { href: `#/jobs/${id}/exceptions` }, "Where it happened")));
  }

  Object.assign(page, {
    accepts: (_, next) => next[0] === id,
    show,
    async refresh() {
      // No batch has such a number: what all have done is enough here.
      const [answer, done] = await Promise.all([api.get(context.root), api.getIfThere(`${context.root}/batches?since=${Number.MAX_SAFE_INTEGER}`)]);
      page.title = answer.name;
      context.job = answer;
      if (name.textContent !== answer.name) name.textContent = answer.name;
      patch(state, statePill(answer.state));
      if (lastState && lastState !== answer.state) announce(`The job is now ${answer.state.toLowerCase()}`);
      lastState = answer.state;
      const over = TERMINAL.has(answer.state);
      patch(facts, h("code", { title: "Id of the job" }, id), ` · started ${time(answer["start-time"])} · ${over ? "took" : "running for"} ${duration(answer.duration)}`,
        over ? ` · ended ${time(answer["end-time"])}` : "");
      showActions(!over && answer.state !== "CANCELLING");
      showNumbers(answer, done);
      await Promise.all([showReason(answer), tab.refresh?.()]);
    },
    dispose() { tab?.dispose?.(); },
  });
  show(parts);
  return page;
}
