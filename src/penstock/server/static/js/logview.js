// A log file, its end first: filtered, by level, followed as it grows.

import { h, patch, replace } from "./dom.js";
import { bytes } from "./format.js";
import { chooser } from "./parts.js";

const LINES = 2000, TAIL = 512 * 1024;
const LEVEL = /\b(TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b/;
const RANK = { TRACE: 0, DEBUG: 0, INFO: 1, WARN: 2, WARNING: 2, ERROR: 3, CRITICAL: 3, FATAL: 3 };

export function logView({ api, list, file }) {
  const pick = h("span");
  const state = { name: null, least: "0", wanted: "", content: null, files: "", version: "" };
  const search = h("input", { type: "search", placeholder: "Filter lines", "aria-label": "Filter lines", oninput: () => { state.wanted = search.value.toLowerCase(); draw(); } });
  const follow = h("input", { type: "checkbox", id: "follow", checked: true });
  const lines = h("pre", { class: "log", tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Log lines" });
  const note = h("span");
  const link = h("a", { target: "_blank" }, "Whole file");
  const blank = h("div", { hidden: true });
  const whole = h("div", null,
    h("div", { class: "row" }, pick, chooser("Level", [["0", "all"], ["1", "info and above"], ["2", "warnings and above"], ["3", "errors"]], "0", (value) => { state.least = value; draw(); }), search,
      h("label", { class: "check", for: "follow" }, follow, "Follow the end")),
    h("p", { class: "hint log-note" }, note, link), lines);
  const element = h("div", null, whole, blank);

  function draw() {
    const all = (state.content ?? "").split("\n");
    if (all[all.length - 1] === "") all.pop();
    let rank = 1;
    const shown = [];
    for (const line of all) {
      // A line without a level goes on with the one above: a traceback, for instance.
      const level = LEVEL.exec(line)?.[1];
      if (level) rank = RANK[level];
      if (rank >= Number(state.least) && (!state.wanted || line.toLowerCase().includes(state.wanted))) shown.push([line, rank]);
    }
    const some = shown.slice(-LINES);
    note.textContent = some.length < shown.length ? `The last ${LINES} of ${shown.length} lines. ` : `${shown.length} of ${all.length} lines. `;
    replace(lines, some.map(([line, each]) => h("span", { class: each >= 3 ? "log-error" : each === 2 ? "log-warn" : null }, `${line}\n`)));
    if (follow.checked) lines.scrollTop = lines.scrollHeight;
  }

  async function refresh() {
    const answer = await api.getIfThere(list);
    const files = answer?.logs ?? [];
    whole.hidden = files.length === 0;
    blank.hidden = files.length !== 0;
    if (!files.length) return;
    if (!files.some((each) => each.name === state.name)) state.name = files[0].name;
    const key = files.map((each) => each.name).join();
    if (key !== state.files) {
      state.files = key;
      patch(pick, chooser("File", files.map((each) => [each.name, each.size === undefined ? each.name : `${each.name} (${bytes(each.size)})`]), state.name, (value) => { state.name = value; refresh(); }));
    }
    const { size, mtime } = files.find((each) => each.name === state.name);
    const version = `${state.name} ${size} ${mtime}`;
    if (version === state.version) return;
    state.version = version;
    state.content = size === 0 ? "" : await api.tail(file(state.name), TAIL);
    draw();
    link.href = file(state.name);
  }
  return { element, refresh, whenEmpty(node) { replace(blank, node); } };
}
