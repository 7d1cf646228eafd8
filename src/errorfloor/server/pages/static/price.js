// The price: what would be certain, what would be used, and what to ask instead if it cannot be afforded.

import { chargedBars } from "./bars.js";
import { post } from "./door.js";
import { element, refusal, show } from "./elements.js";
import { digits, percent, whole, withUnit } from "./numbers.js";
import { offBy } from "./released.js";

/** The largest share of an allowance that this would take; quotas are shares of these. */
export function largestShare(price) {
  return Math.max(0, ...price.accounts.map((account) => account.used_by_this));
}

/** What would be certain and what it would use; what would be refused has no price, only what it would take. */
export function priceShown(price) {
  const share = largestShare(price);
  const noisy = price.outputs.filter((output) => !output.exact);
  const figure = element(
    "p",
    { class: "figure number" },
    element("strong", {}, share > 0 ? percent(share) : "free"),
    element("span", { class: "soft" }, scarcest(share, noisy.length > 0)),
  );
  return [
    price.affordable ? figure : null,
    price.remarks.map((text) => element("p", { class: "remark" }, text)),
    element(
      "dl",
      { class: "facts" },
      noisy.flatMap((output) => output.shares ? located(output) : [
        element("dt", {}, output.name),
        element("dd", {}, withUnit(offBy(output), output.high === null ? "" : output.unit)),
        element("dt", { class: "small" }, "standard error"),
        element("dd", { class: "small soft" }, `${output.least != null ? "up to " : ""}${withUnit(digits(output.standard_error, 3), output.unit)}`),
      ]),
      element("dt", {}, "rows in the answer"),
      element("dd", {}, whole(price.groups)),
    ),
    chargedBars(price),
  ];
}

/** A quantile: how exact it will be depends on the values around it. */
function located({ name, unit, shares }) {
  return [
    element("dt", {}, name),
    element("dd", {}, `between ${shares.count} shares, each ±\u202f${digits(shares.max_error, 3)}`),
    element("dt", { class: "small" }, "softened over"),
    element("dd", { class: "small soft" }, withUnit(digits(shares.softness, 3), unit)),
  ];
}

function scarcest(share, noisy) {
  if (share > 0) return "of the scarcest allowance";
  return noisy ? "answered before" : "public facts only";
}

/** Find a bound that the allowance still covers, by the simulator: a number, one for each output, or null. */
export async function affordableBound(body) {
  try {
    const { least_max_error: least } = await post("/v1/simulate", body);
    if (!least) return null;
    const bounds = [...new Set(Object.values(least))];
    return bounds.length === 1 && typeof body.max_error !== "object" ? bounds[0] : least;
  } catch {
    return null;
  }
}

/** A refusal in place, with one click to ask for what can be afforded. */
export function refusalShown(title, message, bound, outputs, apply) {
  if (bound === null) return refusal(title, message);
  const units = new Map(outputs.map((output) => [output.name, output.unit]));
  const [only] = new Set(units.values()).size === 1 ? units.values() : [""];
  const text =
    typeof bound === "object"
      ? Object.entries(bound).map(([name, one]) => `${name} ± ${withUnit(digits(one, 4), units.get(name))}`).join(", ")
      : `± ${withUnit(digits(bound, 4), only)}`;
  return refusal(
    title,
    message,
    element("button", { type: "button", id: "use-advice", onclick: () => apply(bound) }, `Use ${text}`),
  );
}

/** A failure in place, with what can be done about it. */
export function failed(problem, ...actions) {
  return refusal(titleOf(problem), problem.message, ...actions);
}

/** Do something; what fails is said in `place`. */
export async function attempted(place, work) {
  try {
    await work();
  } catch (problem) {
    show(place, failed(problem));
  }
}

/** Show what a request gives, or in the same place why it gave nothing. */
export async function fill(place, run) {
  try {
    show(place, await run());
  } catch (problem) {
    show(place, failed(problem, element("button", { type: "button", onclick: () => fill(place, run) }, "Try again")));
  }
}

/** A heading for each kind of failure. */
export function titleOf(problem) {
  if (problem.code === "allowance" && problem.message.includes("would exceed the quota")) {
    return "Refused: a quota is too small";
  }
  if (problem.code === "allowance" && problem.message.includes("never released")) return "Not released before";
  const titles = {
    allowance: "Refused: a floor would break",
    refused: "This cannot be asked",
    input: "This cannot be used",
    catalogue: "The tables have changed",
    "answer-failed": "No answer",
    gone: "No connection",
    role: "Your token does not allow this",
    rate: "Too many at once",
  };
  return titles[problem.code] ?? "This did not work";
}
