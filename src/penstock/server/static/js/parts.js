// Small parts that every page is made of.

import { h, patch, setText, uniqueId } from "./dom.js";
import { stateWord } from "./format.js";

export function statePill(state) {
  return h("span", { class: "pill", "data-state": state }, stateWord(state));
}

// A row of figures: [{key, label, hint}]; update({key: text}).
export function figures(items, label) {
  const values = new Map();
  const list = h("dl", { class: "figures", "aria-label": label }, items.map((item) => {
    const value = h("dd", { "data-figure": item.key }, "–");
    values.set(item.key, value);
    return h("div", { class: "figure", title: item.hint }, h("dt", null, item.label), value);
  }));
  return {
    element: list,
    update(next) {
      for (const [key, content] of Object.entries(next)) {
        const value = values.get(key);
        if (content instanceof Node) patch(value, content);
        else setText(value, content);
      }
    },
  };
}

export function section(title, hint, ...children) {
  const id = uniqueId("section");
  return h("section", { "aria-labelledby": id },
    h("header", { class: "section-head" }, h("h2", { id }, title), hint ? h("p", { class: "hint" }, hint) : null),
    children);
}

export function empty(title, ...advice) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), advice.length ? h("p", null, advice) : null);
}

export function code(content) {
  return h("code", null, content);
}

export function problem(error) {
  return h("div", { class: "notice bad", role: "alert" }, h("strong", null, error.message));
}

// A table whose cells are changed in place. Columns: {key, title, show(row) -> text or node,
// number, wide}. The first column heads its row.
export function table({ caption, columns, keyOf, whenEmpty, rowClass }) {
  const body = h("tbody");
  const rows = new Map();
  const element = h("div", { class: "table-box" },
    h("table", { class: "data" },
      h("caption", { class: "sr" }, caption),
      h("thead", null, h("tr", null, columns.map((column) =>
        h("th", { scope: "col", class: column.number ? "number" : null, title: column.hint }, column.title)))),
      body));
  const blank = h("div", { class: "blank", hidden: true }, whenEmpty ?? empty("Nothing yet."));
  const whole = h("div", null, element, blank);

  function build(row) {
    const cells = columns.map((column, index) => h(index === 0 ? "th" : "td", {
      scope: index === 0 ? "row" : null,
      class: [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim() || null,
      "data-label": column.title,
    }));
    return { line: h("tr", { "data-row": keyOf(row) }, cells), cells };
  }

  function update(list) {
    const seen = new Set();
    let place = body.firstChild;
    for (const row of list) {
      const key = String(keyOf(row));
      seen.add(key);
      let known = rows.get(key);
      if (!known) { known = build(row); rows.set(key, known); }
      columns.forEach((column, index) => patch(known.cells[index], column.show(row) ?? "–"));
      if (rowClass) known.line.className = rowClass(row) ?? "";
      if (known.line === place) place = place.nextSibling;
      else body.insertBefore(known.line, place);
    }
    for (const [key, known] of rows) {
      if (!seen.has(key)) { known.line.remove(); rows.delete(key); }
    }
    element.hidden = list.length === 0;
    blank.hidden = list.length !== 0;
  }
  return { element: whole, update };
}

export function definitions(pairs) {
  return h("dl", { class: "pairs" }, pairs.map(([term, value]) => [h("dt", null, term), h("dd", null, value)]));
}

export function chooser(label, options, chosen, onChoose) {
  const id = uniqueId("choose");
  const select = h("select", { id, onchange: () => onChoose(select.value) },
    options.map(([value, name]) => h("option", { value, selected: value === chosen }, name)));
  return h("span", { class: "field-inline" }, h("label", { for: id }, label), select);
}
