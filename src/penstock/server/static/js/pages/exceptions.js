// Why a job failed: the user's own lines first, the framework's folded away.

import { h, replace } from "../dom.js";
import { time } from "../format.js";
import { empty, section } from "../parts.js";
import { conclusion, cut } from "../traceback.js";

export function shortReason(answer) {
  const entry = answer?.exceptionHistory?.entries?.[0];
  if (entry) return whatHappened(entry);
  const trace = answer?.["root-exception"];
  return trace ? conclusion(trace) : "";
}

function whatHappened(entry) {
  if (entry.message !== undefined) return [entry.exceptionName, entry.message].filter(Boolean).join(": ");
  return conclusion(entry.stacktrace) || entry.exceptionName;
}

function traceView(trace) {
  const parts = cut(trace);
  const users = parts.filter((part) => part.kind === "user");
  const blamed = users[users.length - 1];
  return h("div", { class: "trace", tabindex: "0", role: "group", "aria-label": "Traceback" }, parts.map((part) => {
    const block = h("pre", { class: `trace-${part.kind}${part === blamed ? " blamed" : ""}` }, part.lines.join("\n"));
    if (part.kind !== "framework") return block;
    const frames = part.lines.filter((line) => /^\s*(File |at )/.test(line)).length || part.lines.length;
    return h("details", null, h("summary", null, `${frames} ${frames === 1 ? "call" : "calls"} of the framework`), block);
  }));
}

// The user's line with those around it, where the server sends them.
function sourceView(source) {
  if (!source?.lines?.length) return null;
  return h("div", { class: "source" }, h("p", { class: "source-file" }, `${source.file}:${source.line}`),
    h("pre", { tabindex: "0", "aria-label": "Lines of the program" }, source.lines.map((line, i) => {
      const number = source["first-line"] + i;
      return h("span", { class: number === source.line ? "source-line blamed" : "source-line" }, h("span", { class: "source-number" }, String(number)), `${line}\n`);
    })));
}

function entryView(entry, open) {
  const where = [entry.taskName, entry.endpoint ?? entry.location].filter((part) => part && part !== "(unassigned)").join(" · ");
  const body = h("div", null,
    sourceView(entry.source), traceView(entry.stacktrace ?? ""),
    (entry.concurrentExceptions ?? []).map((other) => h("div", { class: "also" }, h("h3", null, "At the same time"), entryView(other, false))));
  return h("details", { class: "failure", open },
    h("summary", null, h("span", { class: "failure-what" }, whatHappened(entry)),
      h("span", { class: "failure-where" }, [time(entry.timestamp), where].filter(Boolean).join(" · "))),
    body);
}

export function exceptions(context) {
  const { api, root } = context;
  const list = h("div");
  const element = h("div", null, section("Failures", "The latest first. Your own lines are shown; calls of the framework are folded.", list));
  let shown = null;
  return {
    element,
    async refresh() {
      const answer = await api.getIfThere(`${root}/exceptions?maxExceptions=50`);
      let entries = answer?.exceptionHistory?.entries ?? [];
      if (!entries.length && answer?.["root-exception"]) entries = [{ stacktrace: answer["root-exception"], timestamp: answer.timestamp }];
      const key = JSON.stringify(entries);
      if (key === shown) return;
      shown = key;
      replace(list, entries.length
        ? entries.map((entry, i) => entryView(entry, i === 0))
        : empty("Nothing has failed.", "If a function raises, its traceback stands here, with the line of your program."),
      answer?.exceptionHistory?.truncated ? h("p", { class: "hint" }, "Older failures are not kept.") : null);
    },
  };
}
