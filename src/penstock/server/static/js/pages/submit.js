// Upload a script, and run it with arguments.

import { h, patch, uniqueId } from "../dom.js";
import { time } from "../format.js";
import { ask } from "../dialog.js";
import { code, empty, section, table } from "../parts.js";

export function submit({ api, announce, refresh }) {
  const message = h("div", { role: "status" });
  const picker = h("input", { type: "file", class: "sr", accept: ".py,.zip", id: uniqueId("file"), onchange: () => take([...picker.files]) });
  const drop = h("label", {
    class: "drop", for: picker.id,
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); take([...event.dataTransfer.files]); },
  }, picker, h("span", null, h("strong", null, "Choose a Python script"), " or drop it here"));
  const list = table({
    caption: "Uploaded scripts", keyOf: (script) => script.id,
    columns: [
      { title: "Script", show: (script) => script.name, wide: true },
      { title: "Uploaded", show: (script) => time(script.uploaded) },
      { title: "Actions", show: (script) => h("span", { class: "actions" },
        h("button", { type: "button", class: "primary", "data-run": script.id }, "Run …"),
        h("button", { type: "button", class: "danger-quiet", "data-delete": script.id }, "Delete")) },
    ],
    whenEmpty: empty("No script has been uploaded.", "A script is a program that calls ", code("env.execute()"), ", as with ", code("penstock run script.py"), "."),
  });
  const element = h("div", { class: "page" }, h("h1", null, "Submit a script"),
    h("p", { class: "notice" }, "A script runs on this machine as the user who started the server. Submit only what you trust."),
    section("Upload", null, drop, message), section("Scripts", null, list.element));
  let scripts = [];
  element.addEventListener("click", (event) => {
    const run = event.target.closest("[data-run]"), remove = event.target.closest("[data-delete]");
    const script = scripts.find((each) => each.id === (run?.dataset.run ?? remove?.dataset.delete));
    if (script) (run ? runScript : deleteScript)(script);
  });

  async function take([file]) {
    if (!file) return;
    patch(message, `Uploading ${file.name} …`);
    try {
      await api.upload("scripts/upload", "scriptfile", file);
      patch(message, `${file.name} is uploaded.`);
      await refresh();
    } catch (error) {
      patch(message, h("div", { class: "notice bad", role: "alert" }, error.message));
    }
    picker.value = "";
  }

  function runScript(script) {
    return ask({
      title: `Run ${script.name}`,
      fields: [
        { name: "args", label: "Arguments", hint: "As on a command line. Quotes keep words together." },
        { name: "parallelism", label: "Parallelism", hint: "Leave it empty for the default." },
        { name: "savepoint", label: "Savepoint to start from", hint: "A folder. Leave it empty to begin anew." },
        { name: "allow", type: "checkbox", label: "Leave out state that the program no longer has" },
      ],
      confirm: "Run",
      act: async (values, tell) => {
        tell("Starting the program …");
        const body = { programArgsList: words(values.args), savepointPath: values.savepoint || null, allowNonRestoredState: values.allow };
        if (values.parallelism) body.parallelism = Number(values.parallelism);
        const { jobid } = await api.send("POST", `scripts/${encodeURIComponent(script.id)}/run`, body);
        announce(`${script.name} is submitted`);
        location.hash = `#/jobs/${jobid}/graph`;
      },
    });
  }

  function deleteScript(script) {
    return ask({
      title: `Delete ${script.name}?`, text: "Jobs that were started from it go on.", confirm: "Delete", danger: true,
      act: () => api.send("DELETE", `scripts/${encodeURIComponent(script.id)}`),
    }).then(refresh);
  }

  return {
    title: "Submit", element,
    async refresh() {
      scripts = (await api.get("scripts")).files ?? [];
      list.update([...scripts].sort((a, b) => b.uploaded - a.uploaded));
    },
  };
}

// Words as a shell would cut them.
export function words(line) {
  const found = [];
  let word = null, quote = null;
  for (const sign of line) {
    if (quote) { if (sign === quote) quote = null; else word += sign; }
    else if (sign === "'" || sign === '"') { quote = sign; word ??= ""; }
    else if (/\s/.test(sign)) { if (word !== null) found.push(word); word = null; }
    else word = (word ?? "") + sign;
  }
  if (word !== null) found.push(word);
  return found;
}
