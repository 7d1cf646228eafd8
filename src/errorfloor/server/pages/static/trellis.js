// Many small courses in rows and columns, one for each pair of values of two keys, all on one scale: one picture for a report.

import { scale, ticks } from "./axes.js";
import { drawn } from "./elements.js";
import { bar, LETTER, picture, shortened } from "./intervals.js";
import { digits, onLattice, withUnit } from "./numbers.js";

const NARROWEST = 62; // pixels of a panel, below which it is not drawn so
const [TOP, HEIGHT, GAP, AXIS] = [44, 88, 12, 48];

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
      { transform: `translate(${left + across * pitch} ${TOP + down * (HEIGHT + GAP)})` },
      drawn("rect", { width: pitch - GAP, height: HEIGHT, class: "frame" }),
      lines.map((tick) => drawn("line", { x1: 0, x2: pitch - GAP, y1: y(tick), y2: y(tick), class: "grid" })),
      at(row, column).map((point) => [bar(x(point.place), y(point.low), x(point.place), y(point.high), thick), dot(point)]),
    );
  const bottom = TOP + rows.length * (HEIGHT + GAP);
  const heads = columns.map((column, across) =>
    named(column, left + across * pitch + (pitch - GAP) / 2, TOP - 10, "middle", pitch - GAP),
  );
  const sides = rows.flatMap((row, down) => [
    ...lettered(row, TOP + down * (HEIGHT + GAP), beside(rows)),
    ...lines.map((tick) =>
      drawn("text", { x: left - 7, y: TOP + down * (HEIGHT + GAP) + y(tick) + 4, "text-anchor": "end" }, digits(tick, 5)),
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
    drawn("text", { x: 0, y: TOP - 10 }, shortened(keys.down, (left / LETTER) | 0)),
    drawn("text", { x: left, y: 12 }, keys.across),
    heads,
    sides,
    rows.map((row, down) => columns.map((column, across) => panel(row, column, down, across))),
    feet,
    drawn("text", { x: width - GAP, y: bottom + 28, "text-anchor": "end" }, along),
  );
}

function named(text, x, y, anchor, width) {
  return drawn("text", { x, y, "text-anchor": anchor, class: "title" }, shortened(text, (width / (1.15 * LETTER)) | 0),
    drawn("title", {}, text));
}

/** The name of a row of panels on up to four lines. */
function lettered(text, top, width) {
  const most = (width / (1.15 * LETTER)) | 0;
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && `${lines.at(-1)} ${word}`.length > most) lines.push(word);
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  const shown = lines.length > 4 ? [...lines.slice(0, 3), `${lines[3]} …`] : lines;
  return shown.map((line, place) => named(line, 0, top + 14 + 16 * place, "start", width));
}
