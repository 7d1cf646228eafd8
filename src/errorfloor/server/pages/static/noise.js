// The page Noise: a support and a quality in, the least informative noise out, beside the usual ones.

import { curveChart, planeChart } from "./curves.js";
import { post } from "./door.js";
import { byId, element, field, refusal, said, show, table } from "./elements.js";
import { digits, digitsDown, digitsUp } from "./numbers.js";
import { titleOf } from "./price.js";

const FIELDS = {
  Interval: [["low", "from", -0.5], ["high", "to", 0.5]],
  HalfLine: [["low", "from", 0]],
  Reals: [],
  Box: [["low0", "first: from", -0.5], ["high0", "to", 0.5], ["low1", "second: from", -0.5], ["high1", "to", 0.5]],
  Ball: [["radius", "radius", 0.5]],
};
const QUALITY = { max_loss: "E w² at most", loss_weight: "weight of E w²" };
const NAMES = { TruncatedLaplace: "truncated Laplace", RaisedCosine: "raised cosine", BesselBall: "Bessel disc" };
const NO_BOUND = "no bound";
let latest = 0;

const kind = () => byId("kind").value;
const flat = () => kind() === "Box" || kind() === "Ball";
const number = (id) => byId(id).valueAsNumber;
const quality = () => document.querySelector("input[name=quality]:checked").value;

function arrange() {
  show(
    byId("support-fields"),
    FIELDS[kind()].map(([name, label, value]) =>
      field(`support-${name}`, label, element("input", { id: `support-${name}`, type: "number", step: "any", value, inputmode: "decimal" })),
    ),
  );
  const endless = kind() === "HalfLine" || kind() === "Reals";
  const alone = document.querySelector("input[name=quality][value='']");
  alone.disabled = endless;
  if (endless && alone.checked) document.querySelector("input[name=quality][value=max_loss]").checked = true;
  byId("correlation-field").hidden = !flat();
  showQuality();
}

function showQuality() {
  byId("quality-field").hidden = quality() === "";
  document.querySelector("label[for=quality-value]").textContent = QUALITY[quality()] ?? "";
}

function wanted() {
  const at = (name) => number(`support-${name}`);
  const supports = {
    Interval: () => ({ low: at("low"), high: at("high") }),
    HalfLine: () => ({ low: at("low") }),
    Reals: () => ({ dimension: 1 }),
    Box: () => ({ low: [at("low0"), at("low1")], high: [at("high0"), at("high1")] }),
    Ball: () => ({ dimension: 2, radius: at("radius") }),
  };
  const asked = {
    support: { kind: kind(), ...supports[kind()]() },
    sensitivity: number("sensitivity"),
    distances: [number("distance")],
  };
  if (quality()) asked[quality()] = number("quality-value");
  if (flat() && number("correlation")) asked.correlation = number("correlation");
  return asked;
}

async function design() {
  const place = byId("designed");
  const mine = (latest += 1);
  place.setAttribute("aria-busy", "true");
  show(place, card(element("p", { class: "soft" }, "Designing …"))); // nothing that was said of another noise stays
  let content;
  try {
    const asked = wanted();
    const empty = JSON.stringify(asked).includes("null");
    content = empty
      ? card(refusal("A number is missing", "Fill in every field with a number."))
      : shown(await post("/v1/designs", asked), asked);
  } catch (problem) {
    content = card(refusal(problem.code === "no-closed-form" ? "Not designed yet" : titleOf(problem), problem.message));
  }
  if (mine !== latest) return;
  place.removeAttribute("aria-busy");
  show(place, content);
}

function card(...content) {
  return element("section", { class: "card" }, content);
}

function shown(found, asked) {
  const best = { ...found, name: nameOf(found.noise), best: true };
  const others = found.compare.map((one) => ({ ...one, name: called(one.name) }));
  const named = [best, ...others.filter((one) => one.name !== best.name)];
  return [
    card(element("h2", {}, "Density"), density(named), certificate(found.certificate)),
    card(element("h2", {}, "At equal quality"), comparison(named, asked)),
    curves(named, asked),
  ];
}

/** What a noise is called; a product by its factors. */
function nameOf(law) {
  const kinds = new Set((law.factors ?? []).map((factor) => factor.type));
  return kinds.size === 1 ? `product of ${called([...kinds][0])}s` : called(law.type);
}

function called(name) {
  return NAMES[name] ?? name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").replace(/ \w/g, (text) => text.toLowerCase());
}

function density(all) {
  if (all[0].density.points) {
    const lines = all.map((one) => ({ name: one.name, x: one.density.points, y: one.density.values }));
    return curveChart(lines, { across: "noise w", filled: true, said: `Densities of ${all.map((one) => one.name).join(", ")}.` });
  }
  return planeChart(all[0].density, `Density of the ${all[0].name} in the plane.`);
}

function certificate(proof) {
  return proof?.explain && element("p", { class: "small soft" }, said(proof.explain));
}

function comparison(all, asked) {
  const [distance] = asked.distances;
  const columns = [
    {
      title: "noise",
      cell: (one) => (one.best ? [element("strong", {}, one.name), " ", chosen()] : one.name),
    },
    {
      title: "standard error",
      number: true,
      cell: (one) => [...new Set(one.standard_error.map((each) => digits(each, 3)))].join(", "),
    },
    {
      title: "off by at most",
      number: true,
      cell: (one) => [...new Set(one.max_error.map((each) => (each === null ? "∞" : digitsUp(each, 3))))].join(", "),
    },
    { title: flat() ? "information, trace" : "information", number: true, cell: information },
    {
      title: `values ${digits(distance, 4)} apart told, at most in 100`,
      number: true,
      cell: (one) => (one.why_infinite ? NO_BOUND : digits(Math.ceil(1000 * one.floors[0].told_apart - 1e-9) / 10, 4)),
    },
    {
      title: "unbiased error at least",
      number: true,
      cell: (one) => (one.floor === null ? NO_BOUND : digitsDown(one.floor, 3)),
    },
  ];
  const jumps = all.filter((one) => one.why_infinite);
  return [
    table(columns, all, "Noises at equal quality", true),
    jumps.map((one) => element("p", { class: "small soft" }, `${one.name}: ${one.why_infinite}.`)),
    ...[
      "Among all that stay there, the chosen one has the least information; noise without a bound can have less.",
      "Information is Fisher information about a shift; a coin is right 50 times in 100.",
    ].map((text) => element("p", { class: "small soft" }, text)),
  ];
}

function chosen() {
  return element("span", { class: "tag" }, "chosen");
}

function information(one) {
  if (one.information === "infinite") return "∞";
  return digits(one.information.reduce((sum, row, place) => sum + row[place], 0), 4);
}

function curves(all, asked) {
  const known = all.filter((one) => one.delta_curve);
  const heading = element("h2", {}, "In terms of differential privacy");
  if (!known.length) return card(heading, element("p", { class: "soft" }, "No (ε, δ) curve is known for these."));
  const lines = known.map((one) => ({ name: one.name, x: one.delta_curve.epsilon, y: one.delta_curve.delta }));
  return card(
    heading,
    element("p", { class: "soft" }, `The least δ for each ε, when one record moves the answer by at most ${digits(asked.sensitivity, 4)}.`),
    curveChart(lines, { across: "ε", logarithmic: true, said: `The least δ for each ε of ${known.map((one) => one.name).join(", ")}.` }),
  );
}

byId("kind").addEventListener("change", () => {
  arrange();
  design();
});
for (const radio of document.querySelectorAll("input[name=quality]")) radio.addEventListener("change", showQuality);
byId("design").addEventListener("submit", (event) => {
  event.preventDefault();
  design();
});

arrange();
byId("to-design").disabled = false;
design();
