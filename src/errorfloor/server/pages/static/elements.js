// Building what is shown. Text only ever enters as text: nothing from a table or a user can become markup.

const SVG = "http://www.w3.org/2000/svg";
export const SHORT = 24; // letters that stay on one line

/** Make an HTML element; `on…` attributes are listeners, null and false ones are left out. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(3).filter(isShown));
  return made;
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

/** Put other content into an element. */
export function show(place, ...content) {
  place.replaceChildren(...content.flat(3).filter(isShown));
}

export function byId(id) {
  return document.getElementById(id);
}

/** What the server says, as a sentence: a capital first, a full stop last, code where it has backticks. */
export function said(text) {
  const ended = /[.!?…]$/.test(text) ? text : `${text}.`;
  const parts = (ended.charAt(0).toUpperCase() + ended.slice(1)).split("`");
  return parts.map((part, place) => (place % 2 && place < parts.length - 1 ? element("code", {}, part) : part));
}

/** A table with a head; a column is {title, number, cell: row => text or element}, and a name if its title is no text. A phone may stack its cells. */
export function table(columns, rows, caption, stacked = false) {
  const kind = (column) => (column.number ? "number" : null);
  const long = (column) => (column.title.length > SHORT ? "long" : null);
  const classes = (column) => [kind(column), long(column)].filter(Boolean).join(" ") || null;
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table",
      { class: stacked ? "stacked" : null },
      element(
        "thead",
        {},
        element("tr", {}, columns.map((c) => element("th", { scope: "col", class: classes(c) }, c.title))),
      ),
      element(
        "tbody",
        {},
        rows.map((row) =>
          element(
            "tr",
            {},
            columns.map((c) =>
              element("td", { class: kind(c), "data-title": c.name ?? c.title }, wrapped(c.cell(row))),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A short text stays on one line; a long name may be broken anywhere, and pushes nothing off the screen. */
export function wrapped(content) {
  return element("span", { class: typeof content === "string" && content.length <= SHORT ? "short" : null }, content);
}

/** A field of a form: a label above its control. */
export function field(id, label, control) {
  return element("div", { class: "field" }, element("label", { for: id }, label), control);
}

/** A sentence that begins with a word in a box. */
export function tagged(word, sentence) {
  return element("p", {}, element("span", { class: "tag" }, word), ` ${sentence}`);
}

/** A problem, in place and in words, with what can be done about it. */
export function refusal(title, message, ...actions) {
  return element(
    "div",
    { class: "refusal" },
    element("h3", {}, title),
    element("p", {}, said(message)),
    actions.length ? element("div", { class: "actions" }, actions) : null,
  );
}
