// Writing numbers: few digits, a true minus sign, units behind a narrow space.

const MINUS = "\u2212";
export const SUPERSCRIPT = Object.fromEntries([..."-0123456789"].map((sign, place) => [sign, "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"[place]]));

/** A number to so many significant digits, without trailing zeros. */
export function digits(value, count = 3) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    const [mantissa, exponent] = value.toExponential(count - 1).split("e");
    const raised = [...String(Number(exponent))].map((sign) => SUPERSCRIPT[sign]).join("");
    return `${Number(mantissa)}·10${raised}`.replace("-", MINUS);
  }
  const places = size === 0 ? 0 : Math.max(0, count - 1 - Math.floor(Math.log10(size)));
  return String(Number(value.toFixed(Math.min(places, 20)))).replace("-", MINUS);
}

/** The same, never above the value: for what something is at least. */
export function digitsDown(value, count = 3) {
  return digits(rounded(value, count, Math.floor), count);
}

/** The same, never below the value: for what something is at most. */
export function digitsUp(value, count = 3) {
  return digits(rounded(value, count, Math.ceil), count);
}

function rounded(value, count, outwards) {
  if (!Number.isFinite(value) || value === 0 || Number(value.toPrecision(count)) === value) return value;
  const exponent = Math.floor(Math.log10(Math.abs(value))) - count + 1;
  return Number(`${outwards(value / 10 ** exponent)}e${exponent}`);
}

/** A released number with as many places as its lattice has. */
export function onLattice(value, step) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const [, fraction = ""] = String(step ?? "").split(".");
  const places = step && !/e/i.test(String(step)) ? fraction.length : null;
  return (places === null ? digits(value, 6) : value.toFixed(places)).replace("-", MINUS);
}

/** The ends of an interval, rounded outwards to the places of a lattice, if any: what is certain of it stays certain. */
export function outward([low, high], step) {
  if (step == null) return [digitsDown(low ?? -Infinity, 6), digitsUp(high ?? Infinity, 6)];
  const size = Number(step);
  const end = (value, round, endless) => (value === null ? endless : onLattice(round(value / size) * size, step));
  return [
    end(low, (count) => Math.floor(count + 1e-9), `${MINUS}∞`),
    end(high, (count) => Math.ceil(count - 1e-9), "∞"),
  ];
}

export function whole(value) {
  return typeof value === "number" ? value.toLocaleString("en").replaceAll(",", "\u202f") : String(value ?? "–");
}

export function withUnit(text, unit) {
  return unit ? `${text}\u00a0${unit}` : text;
}

/** A share in per cent, never below it. */
export function percent(share) {
  if (share > 0 && share < 0.001) return "< 0.1\u00a0%";
  return `${Number((Math.ceil(share * 1000 - 1e-9) / 10).toFixed(1))}\u00a0%`;
}

/** A charge in words: per cent of an allowance, or how many times the whole of it. */
export function amount(share) {
  return share < 10 ? `${percent(share)} of` : `${whole(Math.ceil(share))} times`;
}

/** A round number not above a positive one, such as a first guess at a bound. */
export function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const head = [5, 2, 1].find((one) => one * power <= value * (1 + 1e-12));
  return Number((head * power).toPrecision(3));
}
