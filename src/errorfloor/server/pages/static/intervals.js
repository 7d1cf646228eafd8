// Released numbers as dots, and bars for where the truth certainly lies: row by row, or as a course.

import { scale, ticks, whenResized } from "./axes.js";
import { drawn, element, show } from "./elements.js";
import { digits, onLattice, withUnit } from "./numbers.js";

export const LETTER = 6.4; // pixels that a letter takes, about

/** The ends of a scale on which all rows fit. */
export function reachOf(rows) {
  const low = Math.min(...rows.map((row) => row.low));
  const high = Math.max(...rows.map((row) => row.high));
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - margin, high + margin];
}

/** A row for each released number: {label, value, low, high}. */
export function rowsChart(rows, style) {
  return chart((width) => list(rows, width, style));
}

/** The same along an axis, in the order given. */
export function courseChart(rows, style) {
  return chart((width) => course(rows, width, style));
}

/** A picture that is drawn anew whenever its place gets another width. */
export function chart(draw) {
  const place = element("figure", { class: "chart" });
  whenResized(place, (width) => show(place, draw(width)));
  return place;
}

function list(rows, width, { reach: [low, high], unit, step, said, title, titles }) {
  const small = title !== undefined;
  const head = heading(title, titles, width);
  const wide = small || width > 520;
  const longest = LETTER * Math.max(...rows.map((row) => row.label.length));
  const left = wide ? Math.min(20 + longest, width * 0.45) : 8;
  const right = small ? 8 : wide ? 130 : 12;
  const pitch = small ? 21 : wide ? 34 : 50;
  const top = small ? head.height + 14 : 8;
  const bottom = top + rows.length * pitch;
  const x = scale(low, high, left, width - right);
  const marks = rows.map((row, place) => {
    const y = top + place * pitch + (wide ? pitch / 2 : 32);
    const text = withUnit(onLattice(row.value, row.step ?? step), unit);
    const [at, line, anchor] = wide ? [left - 12, y + 4, "end"] : [left, y - 14, "start"];
    const label = shortened(row.label, ((wide ? left - 12 : 0.6 * width) / LETTER) | 0);
    return [
      drawn("text", { x: at, y: line, "text-anchor": anchor, class: "strong" }, label, drawn("title", {}, row.label)),
      small ? null : drawn("text", { x: width - (wide ? 0 : 12), y: line, "text-anchor": "end", class: "strong" }, text),
      bar(x(row.low), y, x(row.high), y, small ? 5 : 7),
      drawn("circle", { cx: x(row.value), cy: y, r: small ? 3.5 : 5, class: "released" }, drawn("title", {}, `${row.label} ${text}`)),
    ];
  });
  const grid = ticks(low, high, small ? 4 : wide ? 6 : 4).map((tick, place) => [
    drawn("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "grid" }),
    drawn("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, withUnit(digits(tick, 5), small && !place ? unit : "")),
  ]);
  const unitText = unit && !small ? drawn("text", { x: width, y: bottom + 18, "text-anchor": "end" }, wide ? unit : "") : null;
  return picture(width, bottom + 26, said, head.lines, grid, unitText, marks);
}

function course(rows, width, { reach: [low, high], unit, step, said, title, titles }) {
  const small = title !== undefined;
  const head = heading(title, titles, width);
  const [left, right, top, height] = [52, 12, small ? head.height + 14 : 22, small ? 120 : 260];
  const x = scale(0, rows.length - 1, left + 8, width - right - 8);
  const y = scale(low, high, top + height, top);
  const pitch = (width - left) / rows.length;
  const marks = rows.map((row, place) => [
    bar(x(place), y(row.low), x(place), y(row.high), Math.max(1, Math.min(7, pitch / 1.6))),
    drawn("circle", { cx: x(place), cy: y(row.value), r: Math.max(1.2, Math.min(4, pitch / 2.4)), class: "released" },
      drawn("title", {}, `${row.label} ${withUnit(onLattice(row.value, row.step ?? step), unit)}`)),
  ]);
  const grid = ticks(low, high, small ? 3 : 5).map((tick) => [
    drawn("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }),
    drawn("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, digits(tick, 5)),
  ]);
  const names = labels(rows, x(1) - x(0)).map(([place, text]) => {
    const half = (LETTER * text.length) / 2; // a name is under its dot where there is room for it
    const anchor = x(place) < half ? "start" : x(place) + half > width ? "end" : "middle";
    return drawn("text", { x: x(place), y: top + height + 20, "text-anchor": anchor }, text);
  });
  const unitText = small ? null : drawn("text", { x: left - 8, y: 12, "text-anchor": "end" }, unit);
  return picture(width, top + height + 28, said, head.lines, unitText, grid, marks, names);
}

/** The title of one of several pictures: all have room for the longest of their `titles`, on up to three lines. */
function heading(title, titles, width) {
  if (title === undefined) return { height: 0, lines: null };
  const split = (text) => wrapped(text, (width / (1.15 * LETTER)) | 0, 3);
  const lines = split(title).map((line, place) =>
    drawn("text", { x: 0, y: 14 + 16 * place, class: "title" }, line, drawn("title", {}, title)),
  );
  return { height: 16 * Math.max(...titles.map((one) => split(one).length)) - 2, lines };
}

/** Which rows of a course are named, `pitch` pixels apart: every so many of them, so that names keep apart, and the last. */
function labels(rows, pitch) {
  const most = Math.min(Math.max(...rows.map((row) => row.label.length)), 22);
  const step = Math.max(1, Math.ceil((LETTER * most + 18) / pitch));
  const last = rows.length - 1;
  const places = rows.map((_, place) => place).filter((place) => place === last || (place % step === 0 && place <= last - step));
  return places.map((place) => [place, shortened(rows[place].label, most)]);
}

/** A text on several lines of at most so many letters; what does not fit on the last one is left out. */
export function wrapped(text, letters, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && `${lines.at(-1)} ${word}`.length > letters) lines.push(word);
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  const shown = lines.length > most ? [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")] : lines;
  return shown.map((line) => shortened(line, letters));
}

export function bar(x1, y1, x2, y2, thick) {
  const line = drawn("line", { x1, y1, x2, y2, class: "interval" });
  line.style.strokeWidth = `${thick}px`;
  return line;
}

/** A picture with its parts, and what is said of it to whoever cannot see it. */
export function picture(width, height, said, ...parts) {
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": said }, parts);
}

export function shortened(text, most) {
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}
