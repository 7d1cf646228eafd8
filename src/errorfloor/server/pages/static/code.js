// The same question elsewhere: as a link, as Python and as curl, quoted so that it means the same there.

import { element, show } from "./elements.js";
import { linkTo } from "./link.js";

/** A Python literal of what JSON can say. */
export function pythonLiteral(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return String(value);
  // JSON's escapes of quotes, backslashes, control signs and pairs of surrogates mean the same in Python, except \/
  if (typeof value === "string") {
    return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  }
  const inside = Object.entries(value).map(([name, one]) => `${pythonLiteral(name)}: ${pythonLiteral(one)}`);
  return `{${inside.join(", ")}}`;
}

export function asPython(body, origin) {
  const { sql, dry, ...rest } = body;
  const wishes = Object.entries(rest).map(([name, value]) => `, ${name}=${pythonLiteral(value)}`);
  return [
    "import os",
    "import errorfloor as ef",
    "",
    `db = ef.connect(${pythonLiteral(origin)}, token=os.environ["ERRORFLOOR_TOKEN"])`,
    `answer = db${dry ? ".dry()" : ""}.ask(${pythonLiteral(sql)}${wishes.join("")})`,
    "print(answer)",
  ].join("\n");
}

export function shellQuoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function asCurl(body, origin) {
  return [
    `curl -sS ${shellQuoted(`${origin}/v1/ask`)} \\`,
    `  -H "Authorization: Bearer $ERRORFLOOR_TOKEN" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join("\n");
}

/** Buttons that show the question as code and put it on the clipboard, where the browser has one. */
export function copyAs(body) {
  const code = element("pre", { tabindex: "0", id: "code" });
  const said = element("span", { class: "soft small", role: "status" });
  const box = element("div", { hidden: true }, code);
  const offer = (name, write) =>
    element("button", { type: "button", onclick: () => shown(name, write(body, location.origin)) }, `Copy as ${name}`);
  async function shown(name, text) {
    show(code, text);
    box.hidden = false;
    try {
      await navigator.clipboard.writeText(text);
      const needs = name === "link" ? "Whoever opens it needs a token." : "It takes the token from ERRORFLOOR_TOKEN.";
      show(said, `Copied as ${name}. ${needs}`);
    } catch {
      show(said, "This browser does not let a page write to the clipboard: select the text and copy it.");
    }
  }
  return element(
    "div",
    { class: "stack" },
    element("div", { class: "actions" }, offer("link", linkTo), offer("Python", asPython), offer("curl", asCurl), said),
    box,
  );
}
