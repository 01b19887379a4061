// The job's log files.

import { h } from "../dom.js";
import { code, empty, section } from "../parts.js";
import { logView } from "../logview.js";

export function logs(context) {
  const { api, root } = context;
  const view = logView({ api, list: `${root}/logs`, file: (name) => `${root}/logs/${encodeURIComponent(name)}` });
  const element = h("div", null, section("Logs", "What the program and its functions wrote. Spark's own lines are in a file of their own.", view.element));
  view.whenEmpty(context.config.features?.["web-history"]
    ? empty("An archive has no logs.", "They are where the job wrote them, in the folder of its setting ", code("env.log.dir"), ".")
    : empty("No log file yet.", "The first line that the job writes makes one."));
  return { element, refresh: view.refresh };
}
