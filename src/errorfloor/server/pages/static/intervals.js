// The answer as a picture: a dot for what was released, a bar for where the truth certainly lies.

import { scale, ticks, whenResized } from "./axes.js";
import { drawn, element, show } from "./elements.js";
import { digits, onLattice, withUnit } from "./numbers.js";

const MOST_ROWS = 24;

/** A chart of one output: rows are {label, value, low, high}; more than fit as rows become a course. */
export function intervalChart(rows, { name, unit, step }) {
  const place = element("figure", { class: "chart" });
  const finite = rows.filter((row) => row.value !== null && Number.isFinite(row.value));
  if (!finite.length) return null;
  const low = Math.min(...finite.map((row) => row.low ?? row.value));
  const high = Math.max(...finite.map((row) => row.high ?? row.value));
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  const reach = [low - margin, high + margin];
  const count = finite.length === 1 ? "one released number" : `${finite.length} released numbers`;
  const said = `${name}: ${count}, with the interval in which each truth certainly lies; the table has them all.`;
  const draw = finite.length > MOST_ROWS ? course : list;
  whenResized(place, (width) => show(place, draw(finite, reach, width, { unit, step, said })));
  return place;
}

function list(rows, [low, high], width, { unit, step, said }) {
  const wide = width > 520;
  const longest = Math.max(...rows.map((row) => row.label.length));
  const left = wide ? Math.min(40 + longest * 7, width * 0.4) : 8;
  const right = wide ? 130 : 12;
  const pitch = wide ? 34 : 50;
  const top = 8;
  const bottom = top + rows.length * pitch;
  const x = scale(low, high, left, width - right);
  const marks = rows.map((row, place) => {
    const y = top + place * pitch + (wide ? pitch / 2 : 32);
    const text = withUnit(onLattice(row.value, step), unit);
    return [
      drawn(
        "text",
        {
          x: wide ? left - 14 : left,
          y: wide ? y + 4 : y - 14,
          "text-anchor": wide ? "end" : "start",
          class: "strong",
        },
        shortened(row.label, wide ? 26 : 30),
      ),
      drawn(
        "text",
        { x: width - (wide ? 0 : 12), y: wide ? y + 4 : y - 14, "text-anchor": "end", class: "strong" },
        text,
      ),
      ...bar(x(row.low ?? row.value), y, x(row.high ?? row.value), y),
      drawn("circle", { cx: x(row.value), cy: y, r: 5, class: "released" }, drawn("title", {}, `${row.label} ${text}`)),
    ];
  });
  const grid = ticks(low, high, wide ? 6 : 4).map((tick) => [
    drawn("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "grid" }),
    drawn("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, digits(tick, 5)),
  ]);
  const unitText = unit ? drawn("text", { x: width, y: bottom + 18, "text-anchor": "end" }, wide ? unit : "") : null;
  return picture(width, bottom + 26, said, grid, unitText, marks);
}

function course(rows, [low, high], width, { unit, step, said }) {
  const [left, right, top, height] = [52, 12, 22, 260];
  const x = scale(0, rows.length - 1, left + 8, width - right);
  const y = scale(low, high, top + height, top);
  const pitch = (width - left) / rows.length;
  const marks = rows.map((row, place) => [
    ...bar(
      x(place),
      y(row.low ?? row.value),
      x(place),
      y(row.high ?? row.value),
      Math.max(1, Math.min(7, pitch / 1.6)),
    ),
    drawn("circle", { cx: x(place), cy: y(row.value), r: Math.max(1.2, Math.min(4, pitch / 2.4)), class: "released" },
      drawn("title", {}, `${row.label} ${withUnit(onLattice(row.value, step), unit)}`)),
  ]);
  const grid = ticks(low, high, 5).map((tick) => [
    drawn("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }),
    drawn("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, digits(tick, 5)),
  ]);
  const every = Math.max(1, Math.ceil(rows.length / (width / 110)));
  const names = rows.map((row, place) =>
    place % every
      ? null
      : drawn("text", { x: x(place), y: top + height + 20, "text-anchor": "middle" }, shortened(row.label, 12)),
  );
  return picture(
    width,
    top + height + 28,
    said,
    drawn("text", { x: left - 8, y: 12, "text-anchor": "end" }, unit),
    grid,
    marks,
    names,
  );
}

function bar(x1, y1, x2, y2, thick = 7) {
  const line = drawn("line", { x1, y1, x2, y2, class: "interval" });
  line.style.strokeWidth = `${thick}px`;
  return [line];
}

function picture(width, height, said, ...parts) {
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": said }, parts);
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
