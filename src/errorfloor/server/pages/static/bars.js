// How much of an allowance is used, as a bar with words.

import { element } from "./elements.js";
import { amount, digits, digitsDown, percent, withUnit } from "./numbers.js";

const LEAST_SHOWN = 0.6; // per cent: what is used is never drawn as nothing

/** What an account is called. */
export function accountName(account) {
  const what = account.owner ? `owners of ${account.table}` : `${account.table}.${account.column}`;
  return account.cell ? `${what} ${account.cell}` : what;
}

function bar(before, now, text) {
  const parts = [[before, null], [now, "now"]].filter(([share]) => share > 0).map(([share, kind]) => {
    const part = element("span", { class: kind });
    part.style.width = `${Math.min(Math.max(100 * share, LEAST_SHOWN), 100)}%`;
    return part;
  });
  const over = before + now > 1 + 1e-12;
  return element(
    "div",
    { class: over ? "bar over" : "bar", role: "img", "aria-label": text },
    parts,
  );
}

/** A name, the shares used, the bar, and what follows. */
export function namedBar(name, used, now, of, detail) {
  const already = now > 0 ? `${percent(used)} used, ${percent(now)} by this answer` : `${percent(used)} used`;
  const said = used > 1 ? `would take ${amount(used)} the ${of}` : already;
  return element(
    "div",
    { class: "account" },
    element("div", { class: "account-head" }, element("strong", {}, name), element("span", {}, said)),
    bar(used - now, now, `${name}: ${said}`),
    element("p", { class: "soft small" }, detail),
  );
}

/** One account, and what follows for an entry or an owner. */
export function accountBar(account) {
  return namedBar(accountName(account), account.used, account.used_by_this, "allowance", meaning(account));
}

/** One quota: a share of an allowance for an analyst or a token, a period, or both. */
export function quotaBar(quota) {
  const person = quota.analyst ? `analyst ${quota.analyst}` : "everybody together";
  const who = quota.token ? "your token" : person;
  const when = quota.period ? `, ${quota.period}` : quota.kind === "token_question" ? ", one question" : "";
  const name = `${accountName({ ...quota, owner: quota.column === null })}: ${who}${when}`;
  return namedBar(
    name,
    quota.used,
    quota.used_by_this,
    "quota",
    `The quota is ${percent(quota.share)} of the allowance.`,
  );
}

/** Everything that an answer is charged to: the scarcest first, and the rest folded. */
export function chargedBars(said) {
  if (!said.accounts.length) return element("p", { class: "soft" }, "Public facts only: nothing is charged.");
  const scarce = (one, two) => two.used - one.used;
  const all = [
    ...[...said.accounts].sort(scarce).map((account) => [account, accountBar(account)]),
    ...[...(said.quotas ?? [])].sort(scarce).map((quota) => [quota, quotaBar(quota)]),
  ];
  all.sort(([one], [two]) => (two.used > 1) - (one.used > 1)); // what would break comes first
  const [scarcest, ...rest] = all.map(([, shown]) => shown);
  if (!rest.length) return scarcest;
  const others = rest.length === 1 ? "One other allowance or quota" : `${rest.length} other allowances and quotas`;
  return [scarcest, element("details", {}, element("summary", { class: "small" }, `${others}`), rest)];
}

/** What follows from what is used; of a charge that the allowance does not cover, why it is not made. */
function meaning(account) {
  const times = digits(account.told_apart_in_100, 4);
  const promised = digits(account.promised_in_100, 4);
  const soFar = "If the questions so far had been fixed in advance:";
  const refused = account.used > 1;
  if (account.owner) {
    if (refused) {
      if (account.delta) return `ε would exceed ${account.promised_epsilon} at δ = ${account.delta}, or the floor would break: refused.`;
      const most = digits(100 * (1 - account.declared_floor), 3);
      return `Two histories of one owner could be told apart ${times} times in 100, and ${most} are declared: refused.`;
    }
    const told = `Whatever is asked, two histories of one owner are told apart at most ${promised} times in 100.`;
    const lost = account.delta && account.epsilon !== null ? ` ε is ${account.epsilon} so far at δ = ${account.delta}, and never above ${account.promised_epsilon}.` : "";
    return `${told} ${soFar} ${times}.${lost}`;
  }
  const apart = withUnit(digits(account.distance, 4), account.unit);
  const floor = withUnit(digitsDown(account.floor, 3), account.unit);
  if (refused) {
    const declared = withUnit(digits(account.declared_floor, 3), account.unit);
    return `An estimate could come within ${floor}, and ${declared} are declared as the least error: refused.`;
  }
  const least = withUnit(digitsDown(account.promised_floor, 6), account.unit);
  const told = `Whatever is asked, two values ${apart} apart are told apart at most ${promised} times in 100,`;
  return `${told} and any estimate is off by at least ${least}. ${soFar} ${times} times in 100, and ${floor}.`;
}
