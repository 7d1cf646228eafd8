// The answer: table, picture, what is certain, what nobody can learn, what it used.

import { chargedBars } from "./bars.js";
import { outputChart } from "./charts.js";
import { element, tagged } from "./elements.js";
import { releasedTable } from "./released.js";

const MOST_STACKED = 12; // rows of a table that may stand above its picture

/** Everything that is said of an answer to `asked`; `dry` ones say first that their rows are made up. */
export function answerShown(answer, asked) {
  const families = Map.groupBy(answer.outputs.filter((output) => !output.exact), (output) => output.family ?? output.name);
  const pictures = [...families.values()].map((outputs) => outputChart(answer, outputs));
  const rows = releasedTable(answer, answer.dry ? null : asked);
  const free = answer.fresh.length > 0 && !answer.fresh.some(Boolean);
  return [
    answer.dry
      ? tagged("dummy rows", "Made up from the catalogue; nothing was charged, and no number here is about anybody.")
      : free && tagged("free", "Answered before: the same numbers, and nothing was charged."),
    element("pre", { class: "paper" }, asked.sql),
    answer.dry ? null : element("div", { class: "quote" }, sentences(answer).map((text) => element("p", {}, text))),
    answer.cells.length > MOST_STACKED ? [pictures, rows] : [rows, pictures],
    answer.dry ? null : [statements(answer), element("h3", {}, "Allowance used"), chargedBars(answer)],
  ];
}

/** What is certain and what nobody can learn, in short; what was used is drawn. */
export function sentences(said) {
  return said.summary.split("\n").filter((line) => !line.startsWith("Used of allowances"));
}

function statements(answer) {
  return element(
    "details",
    {},
    element("summary", {}, "Everything that is stated"),
    answer.explain.split("\n").map((line) => element("p", { class: "small" }, line)),
  );
}
