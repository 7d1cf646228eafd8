// What was spent when: the share of each allowance that is used, after every charge.

import { accountName } from "./bars.js";
import { curveChart } from "./curves.js";
import { get } from "./door.js";
import { element } from "./elements.js";
import { whole } from "./numbers.js";

const NAMED_BY = ["table", "column", "cell"]; // what an account is known by
const AT_ONCE = 1000;
const MOST = 5000; // entries that are drawn
const MOST_CURVES = 4;
const UNITS = [["days", 864e5], ["hours", 36e5], ["minutes", 6e4], ["seconds", 1e3]];

/** The first entries of the history, as many as are drawn at most. */
export async function allEntries() {
  const found = [];
  let after = 0;
  while (after !== null && found.length < MOST) {
    const { entries, next } = await get(`/v1/ledger/entries?after=${after}&limit=${AT_ONCE}`);
    found.push(...entries);
    after = next;
  }
  return found;
}

/** Which accounts an entry took a share of, and how much. */
export function sharesOf(entry, accounts) {
  return (entry.charges ?? []).filter((one) => !one.holder).flatMap((one) => {
    const account = accounts.find((each) => NAMED_BY.every((part) => (each[part] ?? "") === (one[part] ?? "")));
    if (!account) return [];
    const parts = [one.information, one.evaluation, one.raised_cosine];
    return [[account, Math.max(...parts.map((part, place) => (account.allowance[place] ? part / account.allowance[place] : 0)))]];
  });
}

/** A course of the most used accounts; nothing where nobody may see charges, or there are fewer than two. */
export function spendingChart(entries, accounts) {
  const times = entries.map((entry) => new Date(entry.time).valueOf());
  const span = times.at(-1) - times[0];
  if (!(span > 0) || !entries.some((entry) => entry.charges)) return null;
  const [unit, size] = UNITS.find(([, length]) => span >= 2 * length) ?? UNITS.at(-1);
  const spent = new Map();
  entries.forEach((entry, place) => {
    const at = (times[place] - times[0]) / size;
    for (const [account, share] of sharesOf(entry, accounts)) {
      const curve = spent.get(account) ?? { x: [0], y: [0] };
      const before = curve.y.at(-1);
      curve.x.push(at, at);
      curve.y.push(before, before + 100 * share);
      spent.set(account, curve);
    }
  });
  const curves = [...spent].map(([account, curve]) => ({
    name: accountName(account),
    x: [...curve.x, span / size],
    y: [...curve.y, curve.y.at(-1)],
  }));
  curves.sort((one, two) => two.y.at(-1) - one.y.at(-1));
  if (!curves.length) return null;
  const first = new Date(times[0]).toISOString().slice(0, 16).replace("T", " ");
  const across = `${unit} since ${first} UTC`;
  const said = `Per cent of each allowance that was used, over ${across}; the history has every charge.`;
  const left = curves.length > MOST_CURVES ? ` The ${MOST_CURVES} most used of ${whole(curves.length)} accounts.` : "";
  const cut = entries.length >= MOST ? ` The first ${whole(entries.length)} charges.` : "";
  return [
    element("p", { class: "soft" }, `Per cent of the allowance used.${left}${cut}`),
    ...curveChart(curves.slice(0, MOST_CURVES), { across, said }),
  ];
}
