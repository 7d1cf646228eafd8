// The page Follow: standing questions with their figures so far, what they cost, and what can be done with them.

import { chargedBars } from "./bars.js";
import { outputChart } from "./charts.js";
import { get, post } from "./door.js";
import { Editor } from "./editor.js";
import { byId, element, field, show } from "./elements.js";
import { digits, percent, withUnit } from "./numbers.js";
import { attempted, fill } from "./price.js";
import { releasedTable } from "./released.js";
import { loadTables } from "./tables.js";
import { vocabulary } from "./vocabulary.js";

let words = vocabulary([]);
let priced = null; // the words whose price is shown
const question = new Editor(byId("sql"), () => words);

// ---- one standing question

/** Figures as an answer has them, so that the same pictures and tables show them. */
function asAnswer(said) {
  const names = said.keys ?? said.columns.filter((name) => /^key_\d+$/.test(name));
  const keys = [said.part, ...names];
  const shown = said.outputs.filter((one) => said.columns.includes(one.name));
  const outputs = shown.map((one) => ({ ...one, parts: one.step ? undefined : 1 }));
  const counted = said.columns.filter((name) => name.endsWith("_rows") && !keys.includes(name));
  const at = Object.fromEntries(said.columns.map((name, place) => [name, place]));
  const cells = said.rows.map((row) => ({
    keys: Object.fromEntries(keys.map((name) => [name, row[at[name]]])),
    outputs: Object.fromEntries([
      ...outputs.map(({ name }) => [name, cell(row[at[name]], row[at[`${name}_low`]], row[at[`${name}_high`]])]),
      ...counted.map((name) => [name, { answer: row[at[name]] }]),
    ]),
  }));
  const rows = counted.map((name) => ({ name, exact: true, unit: "" }));
  return { columns: said.columns, outputs: [...outputs, ...rows], cells };
}

function cell(answer, low, high) {
  return { answer, certain_interval: answer === null ? null : [low, high] };
}

function facts(said) {
  const bound = (one) => `± ${withUnit(digits(one.max_error, 6), said.unit)} from ${one.since} to ${one.until}`;
  const cost = (said.charged ?? []).map((one) => `${percent(one.share)} of the allowance of ${one.name}`);
  const rows = [
    ["Table", said.table],
    ["At most off by", said.blocks.map(bound).join("; ")],
    ["Released", `${said.released.length} so far${said.released.length ? `, up to ${said.released.at(-1)}` : ""}`],
    ["Charged", cost.join("; ")],
    ["Followed by", said.analyst ?? ""],
    ["State", state(said)],
  ];
  return element(
    "dl",
    { class: "facts said" },
    rows.filter(([, text]) => text).flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]),
  );
}

function state(said) {
  if (said.cancelled) return "Cancelled: what was released stays.";
  if (said.outlived) return "An older ledger may have been put back since then, so nothing new is released. Extend this question, or follow a new one.";
  return "";
}

function figures(said) {
  if (!said.rows.length) return element("p", { class: "soft" }, "Nothing is released yet.");
  const answer = asAnswer(said);
  return [
    ...answer.outputs.filter((one) => !one.exact).map((one) => outputChart(answer, [one])),
    ...said.wider.map((line) => element("p", { class: "small" }, line)),
    element("details", {}, element("summary", {}, "All figures"), releasedTable(answer, null)),
  ];
}

/** A card that shows a standing question, and is drawn anew with whatever the server says of it next. */
function card(said) {
  const id = said.id;
  const place = element("section", { class: "card", "aria-labelledby": `title-${id}` });
  const told = element("div", { "aria-live": "polite" });
  const run = (work) => attempted(told, async () => draw(await work()));
  const draw = (now) => {
    show(told);
    show(
      place,
      element("h2", { id: `title-${id}` }, now.question === null ? `A question about ${now.table}` : now.question),
      now.question === null ? element("p", { class: "soft small" }, "Somebody else asked it; its text is not shared.") : null,
      facts(now),
      figures(now),
      now.mine && !now.cancelled ? actions(now, id, run, told) : null,
      told,
    );
  };
  draw(said);
  return place;
}

function actions(now, id, run, told) {
  const path = `/v1/following/${encodeURIComponent(id)}`;
  const input = (name, label, more = {}) =>
    field(`${name}-${id}`, label, element("input", { id: `${name}-${id}`, ...more }));
  const value = (name) => byId(`${name}-${id}`).value.trim();
  const more = () => ({ until: value("until"), ...(value("bound") ? { max_error: Number(value("bound")) } : {}) });
  const release = () => run(() => post(`${path}/release`, { through: value("through") }));
  const cancel = element("button", { type: "button", onclick: () => confirmed() }, "Cancel it");
  const confirmed = () => {
    if (cancel.dataset.asked) run(() => post(`${path}/cancel`, {}));
    cancel.dataset.asked = "yes";
    cancel.textContent = "Release nothing more, for ever";
  };
  const extend = element("button", { type: "button", hidden: true }, "Extend");
  const price = () => attempted(told, async () => {
    const wanted = more();
    const offered = await post(`${path}/extend/price`, wanted);
    show(told, element("p", {}, offered.explain.split(" Whatever")[0]), chargedBars(offered));
    extend.hidden = !offered.affordable;
    extend.onclick = () => run(() => post(`${path}/extend`, wanted));
  });
  const change = () => {
    extend.hidden = true; // what is charged is what was priced
  };
  return [
    now.outlived
      ? null
      : element("div", { class: "fields" }, input("through", "Release up to", { maxlength: 20, placeholder: following(now) }),
        element("button", { type: "button", onclick: release }, "Release")),
    element(
      "details",
      {},
      element("summary", {}, "Extend or cancel"),
      element(
        "div",
        { class: "fields", oninput: change },
        input("until", "Extend up to", { maxlength: 20 }),
        input("bound", "At most off by ±, if different", { type: "number", min: 0, step: "any", inputmode: "decimal" }),
      ),
      element("div", { class: "actions" }, element("button", { type: "button", onclick: price }, "What does that cost?"), extend, cancel),
    ),
  ];
}

/** The month after the last one that was released, where that is easily said. */
function following(now) {
  const [, year, month] = /^(\d{4})-(\d\d)$/.exec(now.released.at(-1) ?? "") ?? [];
  if (!month) return now.released.length ? "" : now.since;
  return month === "12" ? `${Number(year) + 1}-01` : `${year}-${String(Number(month) + 1).padStart(2, "0")}`;
}

// ---- another one

function wanted() {
  const texts = Object.fromEntries(["since", "until", "part", "column"].map((name) => [name, byId(name).value.trim()]));
  const numbers = Object.fromEntries(["max_error", "owner_rows", "least_rows"].map((name) => [name, byId(name).valueAsNumber]));
  const given = Object.entries({ ...texts, ...numbers }).filter(([, value]) => value !== "" && !Number.isNaN(value));
  return { sql: question.value.trim(), ...Object.fromEntries(given) };
}

function changed() {
  byId("to-follow").disabled = priced === null || priced !== JSON.stringify(wanted());
}

byId("begin").addEventListener("input", changed);
question.onWritten(changed);
byId("begin").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = wanted();
  priced = null;
  await attempted(byId("price"), async () => {
    const found = await post("/v1/following/price", body);
    priced = found.affordable ? JSON.stringify(body) : null;
    show(byId("price"), element("p", {}, found.explain.split(" Whatever")[0]), chargedBars(found));
  });
  changed();
});
byId("to-follow").addEventListener("click", () => {
  byId("to-follow").disabled = true;
  attempted(byId("price"), async () => {
    await post("/v1/following", wanted());
    priced = null;
    show(byId("price"));
    await list();
  });
});

// ---- beginning

function list() {
  return fill(byId("following"), async () => {
    const { following: every } = await get("/v1/following");
    const shown = await Promise.all(every.map((one) => get(`/v1/following/${encodeURIComponent(one.id)}`)));
    return shown.length ? shown.map(card) : element("p", { class: "soft" }, "Nothing is followed yet.");
  });
}

async function begin() {
  await list();
  byId("to-price").disabled = false;
  try {
    words = vocabulary(await loadTables());
  } catch {
    // the list says already that the server is gone; completion is all that is missing
  }
}

begin();
