// The words a question may be made of: names from the catalogue, aggregates, keywords.

import { roundBelow } from "./numbers.js";

const AGGREGATES = [
  ["avg(", "mean of a column"],
  ["sum(", "total of a column"],
  ["count(*)", "rows; exact and free"],
  ["var_pop(", "variance"],
  ["var_samp(", "variance of a sample"],
  ["covar_pop(", "covariance of two"],
  ["covar_samp(", "covariance of a sample"],
  ["regr_slope(", "slope of y on x"],
  ["above(", "softened share above: x, t, width"],
  ["between(", "softened bar: x, a, b, width"],
];

const FUNCTIONS = [
  ["greatest(", "not below a constant"],
  ["least(", "not above a constant"],
  ["sqrt(", "root"],
  ["exp(", "exponential"],
  ["ln(", "natural logarithm"],
  ["power(", "power"],
  ["tanh(", "hyperbolic tangent"],
  ["sin(", "sine"],
  ["cos(", "cosine"],
  ["date_trunc('month', ", "month of a date"],
  ["extract(", "part of a date"],
];

const KEYWORDS = [
  "SELECT FROM WHERE GROUP BY ORDER LIMIT JOIN LEFT ON USING AS WITH DESC",
  "AND OR NOT IN BETWEEN LIKE IS NULL CASE WHEN THEN ELSE END FILTER",
];

/** What an editor shows apart from names: words of the language, functions and types. */
export const COLOURED = {
  keywords: [...KEYWORDS, "HAVING DISTINCT UNION ALL ASC OVER PARTITION WITHIN ROLLUP CUBE GROUPING SETS TRUE FALSE"]
    .join(" ")
    .toLowerCase(),
  builtin: [...AGGREGATES, ...FUNCTIONS].map(([word]) => /^\w+/.exec(word)[0]).join(" "),
  types: "date timestamp interval",
};

function fixedWords() {
  return [
    ...AGGREGATES.map(([word, hint]) => ({ word, hint, kind: "aggregate" })),
    ...FUNCTIONS.map(([word, hint]) => ({ word, hint, kind: "function" })),
    ...KEYWORDS.join(" ").split(" ").map((word) => ({ word, hint: "keyword", kind: "keyword" })),
  ];
}

/** Everything that can be completed, names first. */
export function vocabulary(tables) {
  const names = tables.flatMap((table) => [
    { word: table.name, hint: "table", kind: "table" },
    ...table.private.map((column) => ({
      word: column.name,
      hint: column.unit ? `private, in ${column.unit}` : "private",
      kind: "column",
      table: table.name,
    })),
    ...table.public.map((column) =>
      ({ word: column.name, hint: `public ${column.type}`, kind: "column", table: table.name }),
    ),
    ...(table.columns ?? []).map((column) =>
      ({ word: column.name, hint: `private ${column.type}`, kind: "column", table: table.name }),
    ),
  ]);
  const seen = new Set();
  return [...names, ...fixedWords()].filter((entry) => {
    const key = `${entry.kind} ${entry.word.toLowerCase()} ${entry.hint}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** The words that continue what stands before the caret; columns of tables named in the question come first. */
export function fitting(words, text, caret, anything) {
  const before = /[A-Za-z_][A-Za-z0-9_]*$/.exec(text.slice(0, caret))?.[0] ?? "";
  if (!before && !anything) return { before, found: [] };
  const typed = before.toLowerCase();
  const mentioned = new Set(text.toLowerCase().match(/[a-z_][a-z0-9_]*/g) ?? []);
  const rank = (entry) => {
    if (entry.kind === "column") return mentioned.has(entry.table.toLowerCase()) ? 0 : 3;
    return { table: 1, aggregate: 2, function: 4, keyword: 5 }[entry.kind];
  };
  const found = words
    .filter((entry) => entry.word.toLowerCase().startsWith(typed) && entry.word.toLowerCase() !== typed)
    .map((entry, place) => ({ entry, place }))
    .sort((one, two) => rank(one.entry) - rank(two.entry) || one.place - two.place)
    .map(({ entry }) => entry);
  return { before, found: found.slice(0, 12) };
}

/** A first question about the first table with private columns, and a bound that fits it: a hundredth of the range. */
export function firstQuestion(tables) {
  const table = tables.find((one) => one.private.length);
  if (!table) return null;
  const column = table.private[0];
  const key = table.public.find((one) => one.type === "text" && !table.row_key.includes(one.name));
  const keys = key ? `${key.name}, ` : "";
  const group = key ? `\nGROUP BY ${key.name}` : "";
  return {
    sql: `SELECT ${keys}count(*) AS entries, avg(${column.name}) AS mean\nFROM ${table.name}${group}`,
    max_error: roundBelow((Number(column.range[1]) - Number(column.range[0])) / 100),
  };
}
