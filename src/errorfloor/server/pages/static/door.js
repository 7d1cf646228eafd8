// The way to the server: one function, and every failure in words.

export class Problem extends Error {
  constructor(code, message, fields = {}, status = 0) {
    super(message);
    this.code = code;
    this.fields = fields;
    this.status = status;
  }
}

/** Tell the page whether the server answers. */
export function announce(here) {
  document.dispatchEvent(new CustomEvent("presence", { detail: here }));
}

export async function get(path) {
  return call(path, { method: "GET" });
}

export async function post(path, body, headers = {}) {
  return call(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...headers },
  });
}

/** The same in another form than JSON, as a file. */
export async function download(path, body, type) {
  return call(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: type },
    read: (response) => response.blob(),
  });
}

/** A fresh key, so that a question sent twice by a shaky line is one question. */
export function idempotencyKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function call(path, { read = (response) => response.json(), ...options }) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      credentials: "same-origin",
      headers: { Accept: "application/json", "X-Errorfloor": "page", ...options.headers },
    });
  } catch {
    announce(false);
    throw new Problem("gone", "The server cannot be reached. Nothing is lost: try again when it is back.");
  }
  announce(true);
  if (response.status === 401 && location.pathname !== "/login") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}${location.hash}`);
    throw new Problem("unauthorized", "You are signed out; the login page follows.", {}, 401);
  }
  if (response.status === 204) return null;
  const said = await (response.ok ? read(response) : response.json()).catch(() => null);
  if (response.ok && said !== null) return said;
  const problem = said?.error;
  if (problem) throw new Problem(problem.code, problem.message, problem.fields ?? {}, response.status);
  throw new Problem(
    "unknown",
    `The server answered with status ${response.status} and gave no reason.`,
    {},
    response.status,
  );
}
