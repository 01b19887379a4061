// Questions before something is done that cannot be undone.

import { h, replace, uniqueId } from "./dom.js";

// Fields: {name, label, hint, type: "text" | "checkbox", value}. `act(values, tell)` does it; the
// dialog stays until that has ended and shows what went wrong.
export function ask({ title, text, fields = [], confirm, danger = false, act }) {
  return new Promise((resolve) => {
    const heading = uniqueId("dialog");
    const inputs = new Map();
    const message = h("div", { class: "dialog-message", role: "status" });
    const go = h("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
    const leave = h("button", { type: "button", onclick: () => close(false) }, "Keep as it is");
    const form = h("form", { onsubmit: submit },
      h("h2", { id: heading }, title),
      text ? h("p", null, text) : null,
      fields.map((field) => {
        const id = uniqueId("field");
        const input = h("input", {
          id, name: field.name, type: field.type ?? "text", value: field.type === "checkbox" ? null : field.value ?? "",
          autocomplete: "off", spellcheck: "false", "aria-describedby": field.hint ? `${id}-hint` : null,
        });
        if (field.type === "checkbox") input.checked = Boolean(field.value);
        inputs.set(field.name, input);
        const hint = field.hint ? h("p", { class: "hint", id: `${id}-hint` }, field.hint) : null;
        return field.type === "checkbox"
          ? h("div", { class: "field" }, h("label", { class: "check", for: id }, input, field.label), hint)
          : h("div", { class: "field" }, h("label", { for: id }, field.label), input, hint);
      }),
      message,
      h("div", { class: "dialog-end" }, leave, go));
    const dialog = h("dialog", { "aria-labelledby": heading, onclose: () => close(false) }, form);
    let done = false;

    function close(result) {
      if (done) return;
      done = true;
      dialog.close();
      dialog.remove();
      resolve(result);
    }

    async function submit(event) {
      event.preventDefault();
      const values = {};
      for (const [name, input] of inputs) values[name] = input.type === "checkbox" ? input.checked : input.value.trim();
      go.disabled = true;
      replace(message, "Working …");
      try {
        const result = await act(values, (line) => replace(message, line));
        if (result?.show) {
          replace(message, result.show);
          go.hidden = true;
          leave.textContent = "Close";
          leave.onclick = null;
          leave.addEventListener("click", () => close(true));
          leave.focus();
        } else {
          close(true);
        }
      } catch (error) {
        replace(message, h("div", { class: "notice bad", role: "alert" }, error.message));
        go.disabled = false;
      }
    }

    document.body.append(dialog);
    dialog.showModal();
    (fields.length ? [...inputs.values()][0] : leave).focus();
  });
}
