// Signing in: the token goes to the server once, which answers with a cookie that scripts cannot read.

import { byId, refusal, show } from "./elements.js";

const UNKNOWN = "The server gave no reason.";
const form = byId("login");

if (location.search.includes("token=")) history.replaceState(null, "", "/login"); // no token stays in the address

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = byId("problem");
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const response = await fetch("/login", {
      method: "POST",
      body: JSON.stringify({ token: byId("token").value.trim() }),
      headers: { Accept: "application/json", "Content-Type": "application/json", "X-Errorfloor": "page" },
    });
    if (response.ok) {
      location.assign(byId("next").value + location.hash); // which may hold a question
      return;
    }
    const said = await response.json().catch(() => null);
    show(problem, refusal("Not signed in", said?.error?.message ?? UNKNOWN));
  } catch {
    show(problem, refusal("Not signed in", "The server cannot be reached. Try again when it is back."));
  }
  button.disabled = false;
  byId("token").select();
});
