// What is declared: tables with their private and public columns.

import { get } from "./door.js";
import { element } from "./elements.js";
import { digits, whole, withUnit } from "./numbers.js";

export async function loadTables() {
  const said = await get("/v1/tables");
  return said.tables;
}

/** A table's declaration as a card that opens; a click on a name hands it to `insert`. */
export function tableShown(table, open, insert) {
  const hidden = table.protects === "records";
  const count = `${hidden ? "at most " : ""}${whole(table.rows ?? 0)} rows`;
  const rows = table.rows === null || table.rows === undefined ? "" : ` · ${count}`;
  const what = hidden ? "who is there is protected" : `one row for each ${table.row_key.join(", ")}`;
  return element(
    "details",
    { open },
    element(
      "summary",
      {},
      element("code", {}, table.name),
      element("span", { class: "soft small" }, ` version ${table.version}${rows} · ${what}`),
    ),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `Columns of ${table.name}` },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ["column", "kind", "range and floor"].map((title) => element("th", { scope: "col" }, title)),
          ),
        ),
        element(
          "tbody",
          {},
          table.private.map((column) => privateRow(column, insert)),
          table.public.map((column) => publicRow(column, insert)),
          (table.columns ?? []).map((column) => recordRow(column, insert)),
        ),
      ),
    ),
  );
}

function nameOf(column, insert) {
  const title = `Put ${column.name} into the question`;
  return element("button", { type: "button", class: "name", title, onclick: () => insert(column.name) }, column.name);
}

function privateRow(column, insert) {
  const [low, high] = column.range.map((end) => digits(Number(end), 6));
  return element(
    "tr",
    {},
    element("td", {}, nameOf(column, insert)),
    element("td", {}, element("span", { class: "tag" }, "private")),
    element(
      "td",
      {},
      `${withUnit(`${low} … ${high}`, column.unit)}, floor ${withUnit(digits(column.floor, 4), column.unit)}`,
    ),
  );
}

function recordRow(column, insert) {
  const domain = column.values ? column.values.join(", ") : withUnit(column.range.join(" … "), column.unit);
  return element(
    "tr",
    {},
    element("td", {}, nameOf(column, insert)),
    element("td", {}, element("span", { class: "tag" }, "private"), ` ${column.type}`),
    element("td", {}, domain),
  );
}

function publicRow(column, insert) {
  return element(
    "tr",
    {},
    element("td", {}, nameOf(column, insert)),
    element("td", {}, `public ${column.type}`),
    element("td", {}, column.unit ?? ""),
  );
}
