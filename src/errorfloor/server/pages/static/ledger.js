// The page Ledger: what is used, what was asked, what can still be asked.

import { accountBar, namedBar, quotaBar } from "./bars.js";
import { get, post } from "./door.js";
import { Editor } from "./editor.js";
import { byId, element, refusal, show, table, tagged } from "./elements.js";
import { percent, whole } from "./numbers.js";
import { fill } from "./price.js";
import { allEntries, sharesOf, spendingChart } from "./spending.js";
import { loadTables } from "./tables.js";
import { firstQuestion, vocabulary } from "./vocabulary.js";

const PAGE = 20;
const ACCOUNTS = 200; // shown at once
let words = vocabulary([]);
const question = new Editor(byId("sql"), () => words);
let accounts = [];
let cursors = [0]; // where each page up to the present one begins

/** Show accounts, a page more each time. */
async function standings(after = 0, before = []) {
  const said = await get(`/v1/ledger?after=${after}&limit=${ACCOUNTS}`);
  accounts = [...before, ...said.accounts];
  if (after === 0) {
    byId("quotas-card").hidden = said.quotas.length === 0;
    show(byId("quotas"), said.quotas.map(quotaBar));
  }
  if (!accounts.length) {
    return element("p", { class: "soft" }, "No table with private columns is declared.");
  }
  const more = () => fill(byId("accounts"), () => standings(said.next, accounts));
  const button = element("button", { type: "button", onclick: more }, `Show ${whole(ACCOUNTS)} more`);
  return [...accounts.map(accountBar), ...(said.next === null ? [] : [button])];
}

// ---- history

async function history() {
  const after = cursors.at(-1);
  const by = byId("by").value;
  const whose = by ? `&analyst=${encodeURIComponent(by)}` : "";
  const said = await get(`/v1/ledger/entries?after=${after}&limit=${PAGE}${whose}`);
  byId("earlier").disabled = cursors.length < 2;
  byId("later").disabled = said.next === null;
  byId("later").onclick = () => {
    cursors.push(said.next);
    fill(byId("history"), history);
  };
  const [first, last] = [said.entries[0], said.entries.at(-1)];
  byId("place").textContent = first ? `entries ${whole(first.sequence)} to ${whole(last.sequence)}` : "";
  if (!first) {
    return element("p", { class: "soft" }, cursors.length > 1 ? "There are no later charges." : "Nothing has been charged yet.");
  }
  const columns = [
    { title: "no.", number: true, cell: (entry) => whole(entry.sequence) },
    { title: "time, UTC", cell: (entry) => element("span", { class: "short" }, moment(entry.time)) },
    { title: "table", cell: (entry) => entry.table ?? entry.stream ?? "" },
    { title: "output", cell: (entry) => entry.output ?? "" },
  ];
  if (said.entries.some((entry) => entry.question)) columns.push({ title: "question", cell: (entry) => entry.question ?? "" });
  if (said.entries.some((entry) => entry.analyst)) columns.push({ title: "by", cell: (entry) => entry.analyst ?? "" });
  if (said.entries.some((entry) => entry.charges)) columns.push({ title: "charged", number: true, cell: charged });
  if (said.entries.some((entry) => entry.label)) {
    const shortLabel = (entry) => element("code", { class: "short", title: entry.label }, entry.label.slice(0, 10));
    columns.push({ title: "label", cell: shortLabel });
  }
  return table(columns, said.entries, "Charges, in order", true);
}

/** The largest share of an allowance that an entry took. */
function charged(entry) {
  const shares = sharesOf(entry, accounts).map(([, share]) => share);
  return shares.length ? percent(Math.max(...shares)) : "–";
}

/** What an owner sees of all charges: who made them, and how spending went. */
async function overview() {
  const entries = await allEntries();
  const names = [...new Set(entries.map((entry) => entry.analyst).filter(Boolean))].sort();
  byId("history-filter").hidden = names.length === 0;
  byId("by").append(...names.map((name) => element("option", { value: name }, name)));
  const drawn = spendingChart(entries, accounts);
  byId("spending-card").hidden = drawn === null;
  if (drawn) show(byId("spending"), drawn);
}

byId("by").addEventListener("change", () => {
  cursors = [0];
  fill(byId("history"), history);
});

function moment(time) {
  const when = new Date(typeof time === "number" ? time * 1000 : time);
  return Number.isNaN(when.valueOf()) ? String(time) : when.toISOString().slice(0, 16).replace("T", " ");
}

byId("earlier").addEventListener("click", () => {
  cursors.pop();
  fill(byId("history"), history);
});

// ---- what can still be asked

byId("simulate").addEventListener("submit", (event) => {
  event.preventDefault();
  const bound = byId("max_error").valueAsNumber;
  const asked = { sql: question.value.trim(), ...(Number.isNaN(bound) ? {} : { max_error: bound }) };
  fill(byId("simulation"), async () => {
    if (!asked.sql) return refusal("No question yet", "Write a question in SQL, such as SELECT avg(…) FROM …");
    return simulationShown(await post("/v1/simulate", asked));
  });
});

function simulationShown(found) {
  const count = found.answers === null ? "any number" : whole(found.answers);
  return [
    element(
      "p",
      { class: "figure number" },
      element("strong", {}, count),
      element("span", { class: "soft" }, `more answer${found.answers === 1 ? "" : "s"} of this price`),
    ),
    found.binding ? element("p", {}, `What runs out first: ${found.binding}.`) : null,
    found.free && tagged("free", "This very question was answered before and costs nothing."),
    found.explain.split("\n").filter((line) => line.startsWith("The next one")).map((line) => element("p", {}, line)),
    found.accounts.map((room) =>
      namedBar(
        room.name,
        room.used,
        0,
        "allowance",
        room.answers === null
          ? "These answers take nothing of it."
          : `Each answer takes ${percent(room.used_by_each)}; ${whole(room.answers)} more fit.`,
      ),
    ),
  ];
}

// ---- beginning

async function begin() {
  await fill(byId("accounts"), standings);
  fill(byId("history"), history);
  overview().catch(() => {}); // the history says already why there is nothing
  try {
    const tables = await loadTables();
    words = vocabulary(tables);
    const proposed = firstQuestion(tables);
    if (proposed && !question.value && !question.focused) {
      question.value = proposed.sql;
      byId("max_error").value ||= proposed.max_error;
    }
  } catch {
    // the accounts say already that the server is gone; completion is all that is missing
  }
}

byId("to-simulate").disabled = false;
begin();
