// Says when the server is gone, keeps the page while it is, and signs out.

import { announce, post } from "./door.js";

const banner = document.getElementById("presence");

document.addEventListener("presence", (event) => {
  banner.hidden = event.detail;
});

async function reachable() {
  try {
    const response = await fetch("/healthz", { cache: "no-store" });
    announce(true);
    return response.status < 502;
  } catch {
    announce(false);
    return false;
  }
}

document.getElementById("retry").addEventListener("click", reachable);
window.addEventListener("offline", () => announce(false));
window.addEventListener("online", reachable);

// a link followed while the server is away would leave nothing but the browser's own error page
for (const link of document.querySelectorAll("header a")) {
  link.addEventListener("click", async (event) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (await reachable()) location.assign(link.href);
  });
}

// a button works once its script is there, and says so by not being disabled any longer
const logout = document.getElementById("logout");
if (logout) logout.disabled = false;
logout?.addEventListener("click", async () => {
  try {
    await post("/logout", {});
  } catch (problem) {
    if (problem.code === "gone") return;
  }
  sessionStorage.clear();
  location.assign("/login");
});
