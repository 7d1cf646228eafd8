// The table of an answer: how many rows there are, sorted as you like, and as a file.

import { download } from "./door.js";
import { element, refusal, SHORT, show, table } from "./elements.js";
import { digits, onLattice, outward, whole } from "./numbers.js";

const AT_ONCE = 200; // rows shown, and added at a time
const FILES = {
  CSV: ["text/csv", "answer.csv"],
  Parquet: ["application/vnd.apache.parquet", "answer.parquet"],
  "reconciled CSV": ["text/csv", "reconciled.csv", "/v1/reconcile", "With numbers that agree with your other answers"],
};

/** Everything about the rows of an answer to `asked`: the count, the table, and ways to take it along. */
export function releasedTable(answer, asked) {
  const columns = columnsOf(answer);
  const place = element("div", {});
  const count = element("p", { class: "soft small", id: "rows" });
  let order = { column: null, down: false };
  let most = AT_ONCE;

  function draw() {
    const rows = sorted(answer.cells, order).slice(0, most);
    const heads = columns.map((column) => ({ ...column, title: head(column, order, sortBy), name: column.title }));
    const shown = table(heads, rows, "The answer", true);
    shown.classList.add("high");
    heads.forEach((column, index) => {
      if (column.value === order.column) {
        shown.querySelectorAll("th")[index].ariaSort = order.down ? "descending" : "ascending";
      }
    });
    const left = answer.cells.length - rows.length;
    const more = () => {
      most += AT_ONCE;
      draw();
    };
    show(place, shown, left > 0 ? element("button", { type: "button", onclick: more }, `Show more of ${whole(left)}`) : null);
    show(count, said(answer.cells.length, rows.length));
  }

  function sortBy(column) {
    order = { column, down: order.column === column && !order.down };
    draw();
  }

  draw();
  return [count, place, ...(asked ? files(asked) : [])];
}

function said(all, shown) {
  const rows = all === 1 ? "1 row" : `${whole(all)} rows`;
  return shown < all ? `${rows}, of which ${whole(shown)} are shown.` : `${rows}.`;
}

/** The heading of a column, which sorts by it. */
function head(column, order, sortBy) {
  const mark = column.value === order.column ? (order.down ? " ▾" : " ▴") : "";
  const kind = column.title.length > SHORT ? "head" : "head short";
  return element("button", { type: "button", class: kind, onclick: () => sortBy(column.value) }, column.title, mark);
}

/** The rows in the order of a column; nulls last. */
function sorted(rows, { column, down }) {
  if (!column) return rows;
  const sign = down ? -1 : 1;
  const compare = (one, two) => {
    if (one === null || two === null) return (one === null) - (two === null);
    return sign * (typeof one === "string" ? one.localeCompare(two) : one - two);
  };
  return [...rows].sort((one, two) => compare(column(one), column(two)));
}

/** Keys and outputs in the order of the question. */
function columnsOf(answer) {
  const keys = new Set(Object.keys(answer.cells[0]?.keys ?? {}));
  const outputs = new Map(answer.outputs.map((output) => [output.name, output]));
  return answer.columns.flatMap((name) => {
    if (keys.has(name)) return [{ title: name, value: (row) => row.keys[name], cell: (row) => keyShown(row.keys[name]) }];
    return outputs.has(name) ? outputColumns(outputs.get(name)) : [];
  });
}

function outputColumns(output) {
  const cell = (row) => row.outputs[output.name];
  const value = (row) => cell(row).answer;
  const title = output.unit ? `${output.name}, ${output.unit}` : output.name;
  if (output.exact) return [{ title, number: true, value, cell: (row) => exact(value(row)) }];
  return [
    {
      title,
      number: true,
      value,
      cell: (row) => {
        const own = ownBound(output, cell(row));
        return [onLattice(value(row), own.step), element("span", { class: "soft" }, ` ${offBy(own)}`)];
      },
    },
    {
      title: "the truth is certainly within",
      number: true,
      value: (row) => cell(row).certain_interval?.[0] ?? null,
      cell: (row) => interval(cell(row), ownBound(output, cell(row)).step),
    },
  ];
}

/** A short key stays on one line; a long one may not push the numbers off the screen. */
function keyShown(value) {
  const text = keyText(value);
  return text.length > SHORT ? text : element("span", { class: "short" }, text);
}

/** A public value as text. */
export function keyText(value) {
  if (value === null) return "(null)";
  if (typeof value === "boolean") return value ? "true" : "false";
  return typeof value === "number" ? digits(value, 12) : String(value).replace(/T00:00:00$/, "");
}

function exact(value) {
  return typeof value === "number" ? (Number.isInteger(value) ? whole(value) : digits(value, 8)) : keyText(value);
}

/** An output with the bound and the lattice of one cell, where they differ from group to group; bounds have five digits. */
export function ownBound(output, cell) {
  if ((output.least == null && output.parts == null) || !cell.certain_interval) return output;
  const [low, high] = cell.certain_interval;
  const reach = cell.max_error ?? Math.max(high - cell.answer, cell.answer - low); // the ends may be cut
  const exact = Number(reach.toPrecision(5));
  const power = Math.floor(Math.log10(exact / 100) + 1e-9);
  const step = (10 ** power).toFixed(Math.max(0, -power));
  const bound = Number((Math.ceil(exact / 10 ** power - 1e-9) * 10 ** power).toPrecision(3)); // never below it
  return { ...output, least: undefined, parts: undefined, low: -bound, high: bound, step };
}

/** How far off a released number can be. */
export function offBy(output) {
  if (output.quantile !== undefined) return "";
  if (output.rows != null) return `from counts ±\u202f${digits(output.rows, 6)}`; // of records
  if (output.least != null) return `±\u202f${digits(output.least, 6)} to ±\u202f${digits(output.high, 6)}`;
  if (output.high === null) return "never below";
  if (output.low === -output.high) return `±\u202f${digits(output.high, 6)}`;
  return `${digits(output.low, 4)} … ${digits(output.high, 4)}`;
}

function interval(cell, step) {
  if (!cell.certain_interval) return "–";
  const [low, high] = outward(cell.certain_interval, step);
  return `${low} … ${high}`;
}

/** Buttons that save the answer; it was charged, so that having it again is free. */
function files(asked) {
  const problem = element("div", {});
  const save = async ([type, name, path]) => {
    try {
      saved(await (path ? download(path, asked, type) : download("/v1/ask", { ...asked, charge: false }, type)), name);
      show(problem);
    } catch (failure) {
      show(problem, refusal("Not saved", failure.message));
    }
  };
  const buttons = Object.entries(FILES).map(([name, kind]) =>
    element("button", { type: "button", title: kind[3] ?? "", onclick: () => save(kind) }, `Save as ${name}`),
  );
  return [element("div", { class: "actions" }, buttons), problem];
}

/** Let the browser keep some bytes as a file. */
export function saved(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
