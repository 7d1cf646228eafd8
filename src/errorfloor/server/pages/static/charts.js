// Which picture fits an answer: rows, a course over dates or numbers, or small multiples with one scale.

import { drawn, element } from "./elements.js";
import { chart, courseChart, reachOf, rowsChart } from "./intervals.js";
import { keyText, ownBound, saved } from "./released.js";
import { trellis, trellisFits } from "./trellis.js";

const MOST_ROWS = 24; // in one picture of rows
const MOST_PANELS = 40;
const WIDEST = 1600; // pixels of a saved picture
const LOOKS = ["fill", "stroke", "stroke-width", "stroke-linecap", "opacity", "font-size", "font-family", "font-weight"];

/** The picture of one output, or of columns that were asked for together, with its heading; nothing if no number is there. */
export function outputChart(answer, outputs) {
  const [output] = outputs;
  const name = output.family ?? output.name;
  const rows = answer.cells
    .flatMap((row) => outputs.map((one) => drawable(row, one)))
    .filter((row) => Number.isFinite(row.value));
  if (!rows.length) return null;
  const count = rows.length === 1 ? "one released number" : `${rows.length} released numbers`;
  const said = `${name}: ${count}, with the interval in which each truth certainly lies; the table has them all.`;
  const style = { ...output, reach: reachOf(rows), said };
  const place = element("div", { class: "figure-of" }, pictures(rows, style));
  return element(
    "section",
    {},
    element("h3", {}, `${name}${output.unit ? `, ${output.unit}` : ""}: released, and where the truth certainly lies`),
    place,
    element(
      "div",
      { class: "actions" },
      element("button", { type: "button", onclick: () => savedPicture(place, name) }, "Save as PNG"),
    ),
  );
}

function drawable(row, output) {
  const cell = row.outputs[output.name] ?? { answer: null };
  const [low, high] = cell.certain_interval ?? [cell.answer, cell.answer];
  const { step } = ownBound(output, cell);
  const which = output.family ? { [output.family]: output.name.replace(`${output.family}_`, "").replaceAll("_", " ") } : {};
  const keys = { ...row.keys, ...which };
  return { keys, value: cell.answer ?? NaN, low: low ?? cell.answer, high: high ?? cell.answer, step };
}

function pictures(rows, style) {
  const names = Object.keys(rows[0].keys);
  const kinds = new Map(names.map((name) => [name, new Set(rows.map((row) => row.keys[name]))]));
  const varied = names.filter((name) => kinds.get(name).size > 1);
  const across = axis(varied, kinds);
  const others = varied.filter((name) => name !== across);
  const ordered = across && isOrdered(kinds.get(across));
  const named = rows.map((row) => ({ ...row, label: labelOf(row, across ? [across] : names) || style.name }));
  if (!others.length) return panel(named, ordered, style);
  const panels = Map.groupBy(named, (row) => labelOf(row, others));
  if (panels.size > MOST_PANELS || (!ordered && kinds.get(across).size > MOST_ROWS)) {
    return courseChart(rows.map((row) => ({ ...row, label: labelOf(row, varied) })), style);
  }
  const apart = () => element(
    "div",
    { class: "multiples" },
    [...panels].map(([title, some]) => panel(some, ordered, { ...style, title, titles: [...panels.keys()], said: `${title}. ${style.said}` })),
  );
  if (!ordered || others.length !== 2) return apart();
  const plan = inRowsAndColumns(named, across, others, kinds);
  return chart((width) => (trellisFits(width, plan.rows, plan.columns) ? trellis(plan, width, style) : apart()));
}

/** Panels of a trellis: the key with more values runs across, where a page has more room for names. */
function inRowsAndColumns(points, across, others, kinds) {
  const [down, over] = [...others].sort((one, two) => kinds.get(one).size - kinds.get(two).size);
  const values = (name) => [...kinds.get(name)].map(keyText).sort((one, two) => one.localeCompare(two, "en", { numeric: true }));
  const [rows, columns] = [values(down), values(over)];
  const course = inOrder([...kinds.get(across)].map((value) => ({ label: keyText(value) }))).map((one) => one.label);
  const places = new Map(course.map((label, place) => [label, place]));
  const cells = Map.groupBy(points, (point) => JSON.stringify([keyText(point.keys[down]), keyText(point.keys[over])]));
  const at = (row, column) =>
    (cells.get(JSON.stringify([row, column])) ?? []).map((point) =>
      ({ ...point, place: places.get(point.label), label: `${row} · ${column} · ${point.label}` }));
  return { rows, columns, course, keys: { down, across: over, along: across }, at };
}

function panel(rows, ordered, style) {
  if (ordered) return courseChart(inOrder(rows), style);
  return rows.length > MOST_ROWS ? courseChart(rows, style) : rowsChart(rows, style);
}

/** What runs along a picture: dates or numbers that vary most, else the key with most values. */
function axis(names, kinds) {
  const size = (name) => kinds.get(name).size;
  const most = (some) => some.reduce((best, name) => (best === null || size(name) > size(best) ? name : best), null);
  return most(names.filter((name) => isOrdered(kinds.get(name)))) ?? most(names);
}

/** Dates and moments, and numbers that take enough values to be a course. */
function isOrdered(values) {
  const given = [...values].filter((value) => value !== null);
  const dated = given.every((value) => typeof value === "string" && /^\d{4}(-(\d\d|W\d\d|Q\d)(-\d\d|$)|$)/.test(value));
  return given.length > 3 && (dated || given.every((value) => typeof value === "number"));
}

function inOrder(rows) {
  const key = (row) => (Number.isNaN(Number(row.label)) ? row.label : Number(row.label));
  return [...rows].sort((one, two) => (key(one) < key(two) ? -1 : 1));
}

function labelOf(row, names) {
  return names.map((name) => keyText(row.keys[name])).join(" · ");
}

/** Draw the pictures of a place once more on a canvas, with their colours written out, and keep that as a file. */
async function savedPicture(place, name) {
  const box = place.getBoundingClientRect();
  const whole = drawn("svg", { xmlns: "http://www.w3.org/2000/svg", width: box.width, height: box.height });
  const ground = getComputedStyle(place.closest(".card")).backgroundColor;
  whole.append(drawn("rect", { width: "100%", height: "100%", fill: ground }));
  for (const one of place.querySelectorAll("svg")) {
    const at = one.getBoundingClientRect();
    const moved = { transform: `translate(${at.left - box.left} ${at.top - box.top})` };
    whole.append(drawn("g", moved, [...one.children].map(coloured)));
  }
  const picture = new Image();
  const text = new XMLSerializer().serializeToString(whole);
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const scale = Math.max(1, WIDEST / box.width);
  const canvas = element("canvas", { width: Math.round(box.width * scale), height: Math.round(box.height * scale) });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => saved(blob, `${name}.png`));
}

/** A copy that looks the same without the page's styles. */
function coloured(original) {
  const copy = original.cloneNode(true);
  const pairs = [[original, copy], ...zip(original.querySelectorAll("*"), copy.querySelectorAll("*"))];
  for (const [from, to] of pairs) {
    const style = getComputedStyle(from);
    for (const part of LOOKS) {
      to.style.setProperty(part, style.getPropertyValue(part));
    }
  }
  return copy;
}

function zip(one, two) {
  return [...one].map((each, place) => [each, two[place]]);
}
