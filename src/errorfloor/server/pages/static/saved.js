// Saved questions: open one, save the present one under a name, remove one's own.

import { get, post } from "./door.js";
import { byId, element, show } from "./elements.js";
import { digits } from "./numbers.js";
import { attempted } from "./price.js";

/** Show the saved questions; `open` takes one, `present` gives the one that stands in the form. */
export function savedQuestions(open, present) {
  const draw = ({ questions }) => {
    byId("saved-count").textContent = questions.length ? ` (${questions.length})` : "";
    show(
      byId("saved"),
      questions.length
        ? element("ul", { class: "saved" }, questions.map((one) => line(one, open, remove)))
        : element("p", { class: "soft small" }, "None yet."),
    );
  };
  const run = (work) => attempted(byId("saved-problem"), async () => {
    draw(await work());
    show(byId("saved-problem"));
  });
  const remove = (one) =>
    run(() => post("/v1/questions/remove", { name: one.name, ...(one.mine || !one.analyst ? {} : { analyst: one.analyst }) }));
  byId("save-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("save-name").value.trim();
    run(() => post("/v1/questions", { name, ...present() })).then(() => {
      byId("save-name").value = "";
    });
  });
  byId("to-save").disabled = false;
  run(() => get("/v1/questions"));
}

function line(one, open, remove) {
  const wish = one.spend === undefined ? bound(one.max_error) : `${digits(100 * one.spend, 3)}\u00a0% of the allowance`;
  const whose = one.mine ? "" : one.analyst ? ` · by ${one.analyst}` : " · shared";
  const removable = one.mine || one.analyst !== undefined;
  return element(
    "li",
    {},
    element("button", { type: "button", class: "link", title: one.sql, onclick: () => open(one) }, one.name),
    element("span", { class: "soft small" }, ` ${one.tables[0]}${wish ? `, ${wish}` : ""}${whose}`),
    removable
      ? element("button", { type: "button", class: "small", "aria-label": `Remove ${one.name}`, onclick: () => remove(one) }, "Remove")
      : null,
  );
}

function bound(given) {
  if (given === undefined) return "";
  if (typeof given !== "object") return `±\u202f${digits(given, 6)}`;
  return Object.entries(given).map(([name, one]) => `${name} ±\u202f${digits(one, 6)}`).join(", ");
}
