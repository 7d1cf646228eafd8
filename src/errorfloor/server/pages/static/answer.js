// The answer: table, picture, what is certain, what nobody can learn, what it used.

import { chargedBars } from "./bars.js";
import { element, table } from "./elements.js";
import { intervalChart } from "./intervals.js";
import { digits, onLattice, outward, whole } from "./numbers.js";

const MOST_SHOWN = 400;
const MOST_STACKED = 12; // rows of a table that may stand above its picture

/** Everything that is said of an answer; `dry` ones say first that their rows are made up. */
export function answerShown(answer) {
  const noisy = answer.outputs.filter((output) => !output.exact);
  const free = answer.fresh.length > 0 && !answer.fresh.some(Boolean);
  return [
    answer.dry
      ? element(
        "p",
        {},
        element("span", { class: "tag" }, "dummy rows"),
        " Made up from the catalogue; nothing was charged, and no number here is about anybody.",
      )
      : null,
    free && !answer.dry
      ? element(
        "p",
        {},
        element("span", { class: "tag" }, "free"),
        " Answered before: the same numbers, and nothing was charged.",
      )
      : null,
    ...sentences(answer).slice(0, answer.dry ? 0 : 1).map((text) => element("p", { class: "quote" }, text)),
    answer.cells.length > MOST_STACKED
      ? [charts(answer, noisy), answerTable(answer)]
      : [answerTable(answer), charts(answer, noisy)],
    answer.dry ? null : [statements(answer), element("h3", {}, "Allowance used"), chargedBars(answer)],
  ];
}

function charts(answer, noisy) {
  return noisy.flatMap((output) => {
    const chart = intervalChart(rowsOf(answer, output), output);
    return chart ? [element("h3", {}, `${output.name}: released, and where the truth certainly lies`), chart] : [];
  });
}

/** What the explanation says that nobody can learn. */
export function sentences(said) {
  return said.explain.split("\n").filter((line) => line.startsWith("Whatever is asked")).map((line) =>
    line.split(" Used of the allowance")[0],
  );
}

function statements(answer) {
  return element(
    "details",
    {},
    element("summary", {}, "Everything that is stated"),
    answer.explain.split("\n").map((line) => element("p", { class: "small" }, line)),
  );
}

function rowsOf(answer, output) {
  return answer.cells.map((row) => {
    const cell = row.outputs[output.name] ?? { answer: null };
    const [low, high] = cell.certain_interval ?? [cell.answer, cell.answer];
    return { label: Object.values(row.keys).map(keyText).join(" · ") || output.name, value: cell.answer, low, high };
  });
}

/** A short key stays on one line; a long one may not push the numbers off the screen. */
function keyShown(value) {
  const text = keyText(value);
  return text.length > 24 ? text : element("span", { class: "short" }, text);
}

function keyText(value) {
  if (value === null) return "(null)";
  if (typeof value === "boolean") return value ? "true" : "false";
  return typeof value === "number" ? digits(value, 12) : String(value).replace(/T00:00:00$/, "");
}

function answerTable(answer) {
  const keys = Object.keys(answer.cells[0]?.keys ?? {});
  const shown = answer.outputs.filter((output) => answer.cells.length === 0 || output.name in answer.cells[0].outputs);
  const columns = [
    ...keys.map((name) => ({ title: name, cell: (row) => keyShown(row.keys[name]) })),
    ...shown.flatMap((output) => outputColumns(output)),
  ];
  const rows = answer.cells.slice(0, MOST_SHOWN);
  const more = answer.cells.length - rows.length;
  const shownTable = table(columns, rows, "The answer", true);
  shownTable.classList.add("high");
  return [
    shownTable,
    more > 0
      ? element(
        "p",
        { class: "soft small" },
        `${whole(more)} more rows are in the answer; the Python client or curl gives them all.`,
      )
      : null,
  ];
}

function outputColumns(output) {
  const cell = (row) => row.outputs[output.name];
  if (output.exact) {
    return [
      {
        title: output.unit ? `${output.name}, ${output.unit}` : output.name,
        number: true,
        cell: (row) => exact(cell(row).answer),
      },
    ];
  }
  const unit = output.unit ? `, ${output.unit}` : "";
  return [
    {
      title: `${output.name}${unit}`,
      number: true,
      cell: (row) => [
        onLattice(cell(row).answer, output.step),
        element("span", { class: "soft" }, ` ${offBy(output)}`),
      ],
    },
    { title: "the truth is certainly within", number: true, cell: (row) => interval(cell(row), output.step) },
  ];
}

function exact(value) {
  return typeof value === "number" ? (Number.isInteger(value) ? whole(value) : digits(value, 8)) : keyText(value);
}

/** How far off a released number can be. */
export function offBy(output) {
  if (output.high === null) return "never below";
  if (output.low === -output.high) return `±\u202f${digits(output.high, 6)}`;
  return `${digits(output.low, 4)} … ${digits(output.high, 4)}`;
}

function interval(cell, step) {
  if (!cell.certain_interval) return "–";
  const [low, high] = outward(cell.certain_interval, step);
  return `${low} … ${high}`;
}
