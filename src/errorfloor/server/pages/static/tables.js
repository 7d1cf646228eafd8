// What is declared: tables with their private and public columns.

import { get } from "./door.js";
import { element } from "./elements.js";
import { digits, whole, withUnit } from "./numbers.js";

export async function loadTables() {
  const said = await get("/v1/tables");
  return said.tables;
}

/** A table's declaration as a card that opens. */
export function tableShown(table, open) {
  const rows = table.rows === null || table.rows === undefined ? "" : ` · ${whole(table.rows)} rows`;
  const key = table.row_key.join(", ");
  return element(
    "details",
    { open },
    element(
      "summary",
      {},
      element("code", {}, table.name),
      element("span", { class: "soft small" }, ` version ${table.version}${rows} · one row for each ${key}`),
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
        element("tbody", {}, table.private.map(privateRow), table.public.map(publicRow)),
      ),
    ),
  );
}

function privateRow(column) {
  const [low, high] = column.range.map((end) => digits(Number(end), 6));
  return element(
    "tr",
    {},
    element("td", {}, element("code", {}, column.name)),
    element("td", {}, element("span", { class: "tag" }, "private")),
    element(
      "td",
      {},
      `${withUnit(`${low} … ${high}`, column.unit)}, floor ${withUnit(digits(column.floor, 4), column.unit)}`,
    ),
  );
}

function publicRow(column) {
  return element(
    "tr",
    {},
    element("td", {}, element("code", {}, column.name)),
    element("td", {}, `public ${column.type}`),
    element("td", {}, column.unit ?? ""),
  );
}
