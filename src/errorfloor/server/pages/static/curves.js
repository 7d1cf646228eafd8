// Curves over one axis: densities, and how δ falls with ε.

import { scale, ticks } from "./axes.js";
import { drawn, element } from "./elements.js";
import { chart, picture } from "./intervals.js";
import { digits, SUPERSCRIPT } from "./numbers.js";

const HEIGHT = 250;
const [TOP, BOTTOM, RIGHT] = [14, 40, 10];

/**
 * A chart of several curves, {name, x, y}; the first is drawn strongest. `logarithmic` has a y axis in powers of ten
 * that ends at `least`; a curve that falls below it leaves the picture there.
 */
export function curveChart(curves, { across, said, logarithmic = false, least = 1e-8, filled = false }) {
  const place = chart((width) => draw(curves, width, { across, said, logarithmic, least, filled }));
  return [place, legend(curves.map((curve) => curve.name))];
}

function draw(curves, width, { across, said, logarithmic, least, filled }) {
  const left = logarithmic ? 46 : 40;
  const floorY = TOP + HEIGHT;
  const xs = curves.flatMap((curve) => curve.x);
  const x = scale(Math.min(...xs), Math.max(...xs), left, width - RIGHT);
  const most = logarithmic ? 1 : Math.max(...curves.flatMap((curve) => curve.y)) * 1.05;
  const y = logarithmic
    ? (value) => scale(Math.log10(least), 0, floorY, TOP)(Math.log10(Math.max(value, least)))
    : scale(0, most, floorY, TOP);
  const marks = logarithmic ? ticks(Math.log10(least), 0, 4).map((power) => 10 ** power) : ticks(0, most, 4);
  const grid = marks.map((mark) => [
    drawn("line", { x1: left, x2: width - RIGHT, y1: y(mark), y2: y(mark), class: "grid" }),
    drawn("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, logarithmic ? powerOfTen(mark) : digits(mark, 3)),
  ]);
  const below = ticks(Math.min(...xs), Math.max(...xs), width > 500 ? 8 : 4).map((mark) =>
    drawn("text", { x: x(mark), y: floorY + 18, "text-anchor": "middle" }, digits(mark, 4)),
  );
  const lines = curves.map((curve, place) =>
    drawn("path", { d: path(curve, x, y, logarithmic ? least : null), class: `line line-${place}` }),
  );
  const ends = `L${x(curves[0].x.at(-1))},${floorY}L${x(curves[0].x[0])},${floorY}Z`;
  const area = filled ? drawn("path", { d: path(curves[0], x, y, null) + ends, class: "area-0" }) : null;
  const name = drawn("text", { x: (left + width - RIGHT) / 2, y: floorY + 36, "text-anchor": "middle" }, across);
  return picture(width, floorY + BOTTOM, said, grid, below, area, lines.reverse(), name);
}

function powerOfTen(value) {
  const power = Math.round(Math.log10(value));
  return power === 0 ? "1" : `10${[...String(power)].map((sign) => SUPERSCRIPT[sign]).join("")}`;
}

/** A polyline; where a logarithmic curve has fallen below what is shown, it ends at the floor. */
function path(curve, x, y, least) {
  let text = "";
  for (const [place, at] of curve.x.entries()) {
    text += `${text ? "L" : "M"}${x(at).toFixed(2)},${y(curve.y[place]).toFixed(2)}`;
    if (least !== null && curve.y[place] < least) break;
  }
  return text;
}

function legend(names) {
  return element(
    "ul",
    { class: "legend" },
    names.map((name, place) =>
      element("li", {}, drawn("svg", { viewBox: "0 0 32 10", class: "chart", "aria-hidden": "true" }, sample(place)), name),
    ),
  );
}

function sample(place) {
  return drawn("path", { d: "M1,5H31", class: `line line-${place}` });
}

/** A density in the plane: the darker, the likelier. */
export function planeChart(density, said) {
  return chart((width) => plane(density, Math.min(width, 460), width, said));
}

function plane({ x: xs, y: ys, values }, size, width, said) {
  const left = 46;
  const half = (xs[1] - xs[0]) / 2; // a cell reaches half a step to either side of its point
  const across = scale(xs[0] - half, xs.at(-1) + half, left, size - RIGHT);
  const height = ((size - left - RIGHT) * (ys.at(-1) - ys[0])) / (xs.at(-1) - xs[0]);
  const tall = Math.min(Math.max(height, 120), 520);
  const upper = (ys[1] - ys[0]) / 2;
  const up = scale(ys[0] - upper, ys.at(-1) + upper, TOP + tall, TOP);
  const most = Math.max(...values.flat()) || 1;
  const [wide, high] = [(size - left - RIGHT) / xs.length, tall / ys.length];
  const cells = values.flatMap((row, j) =>
    row.map((value, i) => {
      if (!(value > most * 0.004)) return null;
      const at = { x: left + i * wide, y: TOP + (ys.length - 1 - j) * high };
      const cell = drawn("rect", { ...at, width: wide, height: high, class: "cell" });
      cell.style.opacity = String((value / most).toFixed(3));
      return cell;
    }),
  );
  const marks = [
    ticks(xs[0], xs.at(-1), 5).map((mark) =>
      drawn("text", { x: across(mark), y: TOP + tall + 18, "text-anchor": "middle" }, digits(mark, 4)),
    ),
    ticks(ys[0], ys.at(-1), 5).map((mark) =>
      drawn("text", { x: left - 6, y: up(mark) + 4, "text-anchor": "end" }, digits(mark, 4)),
    ),
  ];
  const frame = drawn("rect", { x: left, y: TOP, width: size - left - RIGHT, height: tall, fill: "none", class: "grid" });
  const middle = drawn("g", { transform: `translate(${(width - size) / 2} 0)` }, frame, cells, marks);
  return picture(width, TOP + tall + BOTTOM, said, middle);
}
