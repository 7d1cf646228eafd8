// Many small courses in rows and columns, one for each pair of values of two keys, all on one scale: one picture for a report.

import { scale, ticks } from "./axes.js";
import { drawn } from "./elements.js";
import { bar, LETTER, picture, shortened, wrapped } from "./intervals.js";
import { digits, onLattice, withUnit } from "./numbers.js";

const NARROWEST = 62; // pixels of a panel, below which it is not drawn so
const [HEAD, LINE, HEIGHT, GAP, AXIS] = [44, 16, 88, 12, 48];

/** How many pixels the names of rows take. */
function beside(rows) {
  return 18 + LETTER * Math.min(18, Math.max(...rows.map((one) => one.length)));
}

/** Whether so many columns fit. */
export function trellisFits(width, rows, columns) {
  return (width - beside(rows) - AXIS) / columns.length >= NARROWEST;
}

/**
 * Draw panels: `at(row, column)` gives the points of one in order, {place, label, value, low, high}, where a place counts
 * along the `course`; `keys` has the names of what runs down, across and along.
 */
export function trellis({ rows, columns, course, keys, at }, width, { reach: [low, high], unit, step, said }) {
  const left = beside(rows) + AXIS;
  const pitch = (width - left) / columns.length;
  const heads = columns.map((column) => wrapped(column, letters(pitch - GAP), 3));
  const top = HEAD + LINE * (Math.max(...heads.map((lines) => lines.length)) - 1);
  const y = scale(low, high, HEIGHT, 0);
  const x = scale(0, Math.max(1, course.length - 1), 9, pitch - GAP - 9);
  const thick = Math.max(1.5, Math.min(6, pitch / course.length / 1.8));
  const lines = ticks(low, high, 5);
  const dot = (point) =>
    drawn("circle", { cx: x(point.place), cy: y(point.value), r: Math.max(1.3, thick / 1.8), class: "released" },
      drawn("title", {}, `${point.label} ${withUnit(onLattice(point.value, point.step ?? step), unit)}`));
  const panel = (row, column, down, across) =>
    drawn(
      "g",
      { transform: `translate(${left + across * pitch} ${top + down * (HEIGHT + GAP)})` },
      drawn("rect", { width: pitch - GAP, height: HEIGHT, class: "frame" }),
      lines.map((tick) => drawn("line", { x1: 0, x2: pitch - GAP, y1: y(tick), y2: y(tick), class: "grid" })),
      at(row, column).map((point) => [bar(x(point.place), y(point.low), x(point.place), y(point.high), thick), dot(point)]),
    );
  const bottom = top + rows.length * (HEIGHT + GAP);
  const above = heads.flatMap((lines, across) =>
    lines.map((line, place) => {
      const at = top - 10 - LINE * (lines.length - 1 - place);
      return named(line, columns[across], left + across * pitch + (pitch - GAP) / 2, at, "middle");
    }),
  );
  const sides = rows.flatMap((row, down) => [
    ...beginning(row, top + down * (HEIGHT + GAP), beside(rows)),
    ...lines.map((tick) =>
      drawn("text", { x: left - 7, y: top + down * (HEIGHT + GAP) + y(tick) + 4, "text-anchor": "end" }, digits(tick, 5)),
    ),
  ]);
  const [first, last] = [course[0], course.at(-1)];
  const room = LETTER * (first.length + last.length + 2) < pitch - GAP;
  const feet = (room ? columns : []).flatMap((_, across) => [
    drawn("text", { x: left + across * pitch, y: bottom + 6, "text-anchor": "start" }, first),
    drawn("text", { x: left + (across + 1) * pitch - GAP, y: bottom + 6, "text-anchor": "end" }, last),
  ]);
  const along = `${keys.along} ${first} … ${last} from left to right${unit ? `; in ${unit}` : ""}`;
  return picture(
    width,
    bottom + 34,
    said,
    drawn("text", { x: 0, y: top - 10 }, shortened(keys.down, (left / LETTER) | 0)),
    drawn("text", { x: left, y: 12 }, keys.across),
    above,
    sides,
    rows.map((row, down) => columns.map((column, across) => panel(row, column, down, across))),
    feet,
    drawn("text", { x: width - GAP, y: bottom + 28, "text-anchor": "end" }, along),
  );
}

function letters(width) {
  return (width / (1.15 * LETTER)) | 0;
}

function named(line, whole, x, y, anchor) {
  return drawn("text", { x, y, "text-anchor": anchor, class: "title" }, line, drawn("title", {}, whole));
}

/** The name of a row of panels on up to four lines. */
function beginning(text, top, width) {
  return wrapped(text, letters(width), 4).map((line, place) => named(line, text, 0, top + 14 + LINE * place, "start"));
}
