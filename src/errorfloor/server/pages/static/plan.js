// The page Plan: a list of questions, what they take together, and which floors would allow it.

import { namedBar } from "./bars.js";
import { post } from "./door.js";
import { Editor } from "./editor.js";
import { byId, element, field, refusal, show, table } from "./elements.js";
import { amount, digitsUp, percent, withUnit } from "./numbers.js";
import { fill, titleOf } from "./price.js";
import { loadTables } from "./tables.js";
import { firstQuestion, vocabulary } from "./vocabulary.js";

const DRAFT = "errorfloor plan";
const UNITS = { max_error: "off by ± …", spend: "spend … %" };
const editors = new WeakMap(); // of each question's fields, where its SQL is written
let words = vocabulary([]);
let made = 0; // numbers the fields of questions, which may be taken away

// ---- the list

/** Add the fields of a question; `given` fills them in. */
function addQuestion(given = {}) {
  const number = (made += 1);
  const kind = given.spend === undefined ? "max_error" : "spend";
  const value = kind === "spend" ? Number((100 * given.spend).toPrecision(12)) : given.max_error;
  const row = element(
    "div",
    { class: "question", role: "group", "aria-label": `Question ${number}` },
    element("label", { for: `sql-${number}` }, "Question, in SQL"),
    element("div", { class: "editor" }, element("textarea", { id: `sql-${number}`, class: "low" })),
    element(
      "div",
      { class: "fields" },
      field(`kind-${number}`, "At most", element(
        "select",
        { id: `kind-${number}` },
        Object.entries(UNITS).map(([name, text]) => element("option", { value: name, selected: name === kind }, text)),
      )),
      field(`value-${number}`, "Number", element("input", { id: `value-${number}`, type: "number", min: 0, step: "any" })),
      field(`name-${number}`, "Name, if you like", element("input", { id: `name-${number}`, maxlength: 80 })),
      element("button", { type: "button", onclick: () => remove(row) }, "Remove"),
    ),
  );
  byId("questions").append(row); // a label is found once it is on the page
  const editor = new Editor(row.querySelector("textarea"), () => words);
  editor.value = given.sql ?? "";
  editor.onWritten(keep);
  editors.set(row, editor);
  row.querySelector("input[type=number]").value = value ?? "";
  row.querySelector("input[maxlength]").value = given.name ?? "";
  return row;
}

function remove(row) {
  row.remove();
  if (!byId("questions").childElementCount) addQuestion();
  keep();
  byId("add").focus();
}

/** What is filled in, as the server takes it; rows without SQL are left out. */
function questions() {
  return [...byId("questions").children].map((row) => {
    const number = row.querySelector("input[type=number]").valueAsNumber;
    const kind = row.querySelector("select").value;
    const name = row.querySelector("input[maxlength]").value.trim();
    const given = Number.isNaN(number) ? {} : { [kind]: kind === "spend" ? Number((number / 100).toPrecision(12)) : number };
    return { sql: editors.get(row).value.trim(), ...given, ...(name ? { name } : {}) };
  }).filter((one) => one.sql);
}

/** The floors to compare, by table and column. */
function candidates() {
  const found = {};
  for (const input of byId("floors").querySelectorAll("input")) {
    const numbers = input.value.split(/[\s;]+/).filter(Boolean).map(Number);
    if (numbers.some((one) => !(one > 0))) throw new Error(`${input.dataset.name}: give numbers above 0, such as 1 2 5`);
    if (numbers.length) (found[input.dataset.table] ??= {})[input.dataset.column] = numbers;
  }
  return found;
}

function keep() {
  const floors = Object.fromEntries([...byId("floors").querySelectorAll("input")].map((one) => [one.id, one.value]));
  sessionStorage.setItem(DRAFT, JSON.stringify({ questions: questions(), floors }));
}

// ---- what is planned

/** Which sentences stand apart from the tables: all that is said before the first account. */
function sentences(plan) {
  const [, text] = plan.explain.split("\n\n");
  return text.split("\n").map((line) => element("p", {}, line));
}

function questionsShown(plan) {
  const names = [...new Set(plan.questions.flatMap((one) => Object.keys(one.takes)))].sort();
  const largest = (shares) => Math.max(0, ...Object.values(shares));
  return table(
    [
      { title: "question", cell: (one) => one.name },
      { title: "bound", cell: (one) => one.bound },
      ...names.map((name) => ({ title: name, number: true, cell: (one) => percent(one.takes[name] ?? 0) })),
      { title: "together", number: true, cell: (one) => (one.fits ? percent(largest(one.together)) : amount(largest(one.together))) },
      { title: "fits", cell: (one) => (one.fits ? "yes" : "no") },
    ],
    plan.questions,
    "What each question takes",
    true,
  );
}

function accountShown(account, questions) {
  const units = Object.fromEntries(questions.map((one) => [one.name, one.units]));
  return [
    element("h3", {}, `Floor of ${account.name}`),
    ...account.advice.map((line) => element("p", {}, line)),
    ...account.candidates.map((one) =>
      namedBar(
        `${one.what}${one.declared ? " (declared)" : ""}`,
        one.used,
        0,
        "allowance",
        [
          one.meaning,
          one.fits ? "" : `${one.first_unfit} no longer fits.`,
          one.possible ? "" : "It cannot be declared any more: answers have a stronger promise.",
          ...Object.entries(one.max_error).map(([name, bounds]) => {
            const within = Object.entries(bounds).map(([output, bound]) => `± ${withUnit(digitsUp(bound, 4), units[name][output])}`);
            return `${name} would be within ${within.join(", ")}.`;
          }),
        ].filter(Boolean).join(" "),
      ),
    ),
  ];
}

async function plan() {
  const asked = questions();
  if (!asked.length) return refusal("No question yet", "Write a question in SQL, such as SELECT avg(…) FROM …");
  show(byId("planned"), element("p", { class: "soft" }, "Planning …"));
  const found = await post("/v1/plan", { questions: asked, candidates: candidates() });
  return [...sentences(found), questionsShown(found), ...found.accounts.flatMap((account) => accountShown(account, found.questions))];
}

byId("plan").addEventListener("submit", async (event) => {
  event.preventDefault();
  keep();
  byId("to-plan").disabled = true;
  try {
    show(byId("planned"), await plan());
  } catch (problem) {
    show(byId("planned"), refusal(titleOf(problem.code ? problem : { ...problem, code: "input" }), problem.message));
  }
  byId("to-plan").disabled = false;
  byId("planned-card").focus({ preventScroll: true });
  byId("planned-card").scrollIntoView({ block: "nearest" });
});
byId("plan").addEventListener("input", keep);
byId("add").addEventListener("click", () => editors.get(addQuestion()).focus());

// ---- beginning

function floorField(name, column, floor, unit, kept) {
  const of = column === "owner" ? `owners of ${name}` : `${name}.${column}`;
  const id = `floor-${name}-${column}`;
  const input = element("input", { id, inputmode: "decimal", "data-table": name, "data-column": column, "data-name": of });
  input.value = kept?.[id] ?? "";
  return field(id, `${of}, declared ${withUnit(String(floor), unit)}`, input);
}

async function begin() {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
  (draft?.questions ?? []).forEach((one) => addQuestion(one));
  let first = {};
  await fill(byId("floors"), async () => {
    const tables = await loadTables();
    words = vocabulary(tables);
    first = firstQuestion(tables) ?? {};
    return tables.flatMap((one) => [
      ...one.private.map((column) => floorField(one.name, column.name, column.floor, column.unit, draft?.floors)),
      ...(one.owner ? [floorField(one.name, "owner", one.owner.floor, "", draft?.floors)] : []),
    ]);
  });
  if (!byId("questions").childElementCount) addQuestion(first);
  byId("to-plan").disabled = false;
}

begin();
