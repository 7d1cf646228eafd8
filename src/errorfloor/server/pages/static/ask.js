// The page Ask: write, price, ask; nothing is spent before its price was shown.

import { answerShown } from "./answer.js";
import { copyAs } from "./code.js";
import { idempotencyKey, post } from "./door.js";
import { Editor } from "./editor.js";
import { byId, element, refusal, show } from "./elements.js";
import { linked } from "./link.js";
import { percent } from "./numbers.js";
import { affordableBound, attempted, fill, largestShare, priceShown, refusalShown, titleOf } from "./price.js";
import { savedQuestions } from "./saved.js";
import { loadTables, tableShown } from "./tables.js";
import { Trade } from "./trade.js";
import { firstQuestion, vocabulary } from "./vocabulary.js";
import { WishForm } from "./wish.js";

const DRAFT = "errorfloor.draft";
const READER = byId("visitor").dataset.role === "reader"; // who gets what was released before, and cannot spend
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const wish = new WishForm(changed);
const trade = new Trade((bound) => applied(bound));
let words = vocabulary([]);
const question = new Editor(byId("sql"), () => words);
let priced = null; // the request whose price is shown
let answered = null; // the request whose answer is shown
let latest = 0; // replies that come late are dropped
let touched = false; // once somebody writes, nothing is written for them

function body() {
  return { sql: question.value.trim(), ...wish.read() };
}

function changed() {
  sessionStorage.setItem(DRAFT, JSON.stringify({ sql: question.value, max_error: byId("max_error").value }));
  const same = priced !== null && JSON.stringify(priced.body) === JSON.stringify(body());
  const old = answered !== null && answered !== JSON.stringify(body());
  byId("answer-card").classList.toggle("stale", old);
  byId("answer-stale").hidden = !old;
  byId("answered")?.replaceChildren(old ? "The question has changed. Pricing is free." : "Answered below. Asking again is free.");
  const button = byId("to-ask");
  button.disabled = !(same && priced.price.affordable);
  const share = button.disabled ? 0 : largestShare(priced.price);
  byId("stale").hidden = same || priced === null;
  byId("to-price").classList.toggle("main", button.disabled);
  const free = !button.disabled && share === 0;
  button.textContent = free ? "Ask · free" : share > 0 && !READER ? `Ask · spends ${percent(share)}` : "Ask";
}

/** Run something while its buttons rest; what fails is said in `place`. */
async function working(place, run) {
  const mine = (latest += 1);
  const buttons = document.querySelectorAll("#question .actions button");
  for (const button of buttons) button.disabled = true;
  try {
    const content = await run();
    if (mine === latest) show(place, content);
  } catch (problem) {
    if (mine === latest) show(place, await told(problem));
  }
  for (const button of buttons) button.disabled = false;
  changed();
}

async function told(problem) {
  if (problem.code === "input" && !Object.keys(wish.read()).length) {
    return refusal("How exact?", "Fill in how far off the answer may be, or the share of the allowance to spend");
  }
  const bound = problem.code === "allowance" ? await affordableBound(body()) : null;
  return refusalShown(titleOf(problem), problem.message, bound, wish.outputs, applied);
}

function applied(bound) {
  wish.write(bound);
  price();
}

/** Take an answer away once another question is priced: it must not stand under what is said of that one. */
function forgetAnswer(asked) {
  if (answered === null || answered === JSON.stringify(asked)) return;
  answered = null;
  byId("answer-card").hidden = true;
  show(byId("answer"));
}

function price() {
  let asked = body();
  forgetAnswer(asked);
  priced = null;
  return working(byId("price"), async () => {
    if (!asked.sql) return refusal("No question yet", "Write a question in SQL, such as SELECT avg(…) FROM …");
    show(byId("price"), element("p", { class: "soft" }, "Pricing …"));
    let found = await post("/v1/price", asked);
    wish.learn(found.outputs);
    if (JSON.stringify(body()) !== JSON.stringify(asked) && body().sql === asked.sql) {
      asked = body(); // the question has other outputs than the bounds were for
      found = await post("/v1/price", asked);
    }
    priced = { body: asked, price: found };
    trade.begin(asked.max_error, largestShare(found), wish.outputs[0]?.unit);
    const shown = priceShown(found);
    if (found.affordable) return shown;
    const bound = await affordableBound(asked);
    const advice = found.explain.split("\n").find((line) => line.startsWith("Refused if asked: ")) ?? "";
    const title = titleOf({ code: "allowance", message: advice }).replace("Refused", "Would be refused");
    return [refusalShown(title, advice.replace("Refused if asked: ", ""), bound, wish.outputs, applied), ...shown];
  }).then(() => revealed(byId("price").parentElement));
}

/** Bring into view what has just been said, if it is off the screen. */
function revealed(card) {
  const { top } = card.getBoundingClientRect();
  if (top > 0.45 * innerHeight || top < 0) {
    card.scrollIntoView({ block: "start", behavior: STILL.matches ? "auto" : "smooth" });
  }
}

function ask(dry) {
  const asked = dry ? { ...body(), dry: true } : body();
  const card = byId("answer-card");
  const place = byId("answer");
  return working(place, async () => {
    if (!asked.sql) return refusal("No question yet", "Write a question in SQL, such as SELECT avg(…) FROM …");
    card.hidden = false;
    answered = JSON.stringify(body());
    show(place, element("p", { class: "soft" }, dry ? "Trying on dummy rows …" : "Asking …"));
    const answer = await post("/v1/ask", asked, dry ? {} : { "Idempotency-Key": idempotencyKey() });
    wish.learn(answer.outputs);
    if (!dry) {
      priced = null;
      show(byId("price"), element("p", { id: "answered", class: "soft" }));
    }
    return [...answerShown({ dry: Boolean(dry), ...answer }, asked), copyAs(asked)];
  }).then(() => {
    card.hidden = false;
    revealed(card);
    card.focus({ preventScroll: true });
  });
}

byId("question").addEventListener("submit", (event) => {
  event.preventDefault();
  price();
});
byId("to-ask").addEventListener("click", () => ask(false));
byId("to-try").addEventListener("click", () => ask(true));
question.onWritten(() => {
  touched = true;
  changed();
});
byId("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (byId("to-ask").disabled) price();
  else ask(false);
});

/** Put a name where the caret is. */
function insert(name) {
  question.insert(name);
  touched = true;
  changed();
}

/** Open a question that came with the address; what was released before is shown at once, for it is free. */
async function openLink({ sql, max_error, spend }) {
  question.value = sql;
  touched = true;
  if (typeof max_error === "object") {
    wish.learn((await post("/v1/price", { sql, max_error })).outputs);
  }
  if (max_error !== undefined) wish.write(max_error);
  else if (spend !== undefined) wish.spend(spend);
  await price();
  if (!byId("to-ask").disabled && largestShare(priced.price) === 0) await ask(false);
}

function begin() {
  const given = linked(location.hash);
  if (given) attempted(byId("price"), () => openLink(given));
  const draft = given ? null : JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
  if (draft?.sql) {
    question.value = draft.sql;
    byId("max_error").value = draft.max_error;
  }
  fill(byId("tables"), async () => {
    const tables = await loadTables();
    words = vocabulary(tables);
    const proposed = firstQuestion(tables);
    if (proposed && !question.value && !touched && !question.focused) {
      question.value = proposed.sql;
      byId("max_error").value ||= proposed.max_error;
    }
    return tables.map((table, place) => tableShown(table, place === 0, insert));
  });
}

for (const id of ["to-price", "to-try"]) byId(id).disabled = false;
savedQuestions((one) => attempted(byId("price"), () => openLink(one)), body);
begin();
