// What is declared: tables with their private and public columns.

import { get } from "./door.js";
import { element, table as shown } from "./elements.js";
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
  const about = element("span", { class: "soft small" }, ` version ${table.version}${rows} · ${what}`);
  const columns = [
    { title: "column", cell: (row) => nameOf(row.name, insert) },
    { title: "kind", cell: (row) => row.kind },
    { title: "range and floor", cell: (row) => row.domain },
  ];
  const rowsShown = [...table.private.map(privateRow), ...table.public.map(publicRow), ...(table.columns ?? []).map(recordRow)];
  return element(
    "details",
    { open },
    element("summary", {}, element("code", {}, table.name), about),
    shown(columns, rowsShown, `Columns of ${table.name}`),
  );
}

function nameOf(name, insert) {
  const title = `Put ${name} into the question`;
  return element("button", { type: "button", class: "name", title, onclick: () => insert(name) }, name);
}

function hiddenKind(type = "") {
  return [element("span", { class: "tag" }, "private"), ` ${type}`];
}

function privateRow({ name, range, unit, floor }) {
  const [low, high] = range.map((end) => digits(Number(end), 6));
  const domain = `${withUnit(`${low} … ${high}`, unit)}, floor ${withUnit(digits(floor, 4), unit)}`;
  return { name, kind: hiddenKind(), domain };
}

function recordRow({ name, type, values, range, unit }) {
  return { name, kind: hiddenKind(type), domain: values ? values.join(", ") : withUnit(range.join(" … "), unit) };
}

function publicRow({ name, type, unit }) {
  return { name, kind: `public ${type}`, domain: unit ?? "" };
}
