// A question as an address: everything is in the part behind #, which browsers do not send to servers or log.

/** The address of the page Ask with this question in it. */
export function linkTo(body, origin) {
  const { sql, max_error, spend } = body;
  const wish = spend === undefined ? { max_error: JSON.stringify(max_error) } : { spend };
  const given = Object.entries({ sql, ...wish }).filter(([, value]) => value !== undefined);
  return `${origin}/ask#${new URLSearchParams(given)}`;
}

/** The question of an address, or null; a bound that is none is left out. */
export function linked(hash) {
  const given = new URLSearchParams(hash.slice(1));
  if (!given.get("sql")) return null;
  const body = { sql: given.get("sql") };
  for (const name of ["max_error", "spend"]) {
    try {
      body[name] = JSON.parse(given.get(name) ?? "null") ?? undefined;
    } catch {
      body[name] = undefined;
    }
  }
  return body;
}
