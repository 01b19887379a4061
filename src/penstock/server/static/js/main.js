// The shell: which page is shown, when it is refreshed, and how the colours are chosen.

import * as api from "./api.js";
import { h, patch, replace } from "./dom.js";
import { problem } from "./parts.js";
import { overview } from "./pages/overview.js";
import { job } from "./pages/job.js";
import { workers } from "./pages/workers.js";
import { submit } from "./pages/submit.js";

const ROUTES = [
  [/^\/overview$/, overview, "overview"],
  [/^\/jobs\/([0-9a-f]+)(?:\/([a-z]+))?(?:\/(.+))?$/, job, "overview"],
  [/^\/submit$/, submit, "submit"],
  [/^\/workers(?:\/(.+))?$/, workers, "workers"],
];
const main = document.getElementById("main");
const pulse = document.getElementById("pulse");
const announcer = document.getElementById("announcer");

let config = null;
let page = null;
let timer = 0;
let turn = 0;
// A rate needs two readings: the second one of a page comes soon.
let rounds = 0;
const SOON = 900;

function announce(text) {
  announcer.textContent = text;
}

function links() {
  const features = config.features ?? {};
  const all = [["overview", features["web-history"] ? "Ended jobs" : "Overview"]];
  if (features["web-submit"]) all.push(["submit", "Submit"]);
  if (!features["web-history"]) all.push(["workers", "Workers"]);
  return all;
}

function showNav(active) {
  patch(document.getElementById("pages"), links().map(([name, title]) =>
    h("a", { href: `#/${name}`, "aria-current": name === active ? "page" : null }, title)));
}

function setPulse(state) {
  const texts = { live: "Live", paused: "Paused", lost: "No answer from the server", archive: "Archive" };
  pulse.dataset.state = state;
  pulse.textContent = texts[state];
}

async function refresh() {
  clearTimeout(timer);
  const mine = turn;
  const shown = page;
  if (shown && !document.hidden) {
    try {
      await shown.refresh();
      if (mine !== turn) return;
      setPulse(config.features?.["web-history"] ? "archive" : "live");
      shown.failure?.remove();
    } catch (error) {
      if (mine !== turn) return;
      if (!(error instanceof api.ApiError)) throw error;
      showFailure(shown, error);
    } finally {
      rounds += 1;
      const pause = config["refresh-interval"] || 3000;
      if (mine === turn) timer = setTimeout(refresh, rounds === 1 ? Math.min(SOON, pause) : pause);
    }
  } else if (mine === turn) {
    setPulse("paused");
  }
}

function showFailure(shown, error) {
  if (error.status === 0) {
    if (pulse.dataset.state !== "lost") announce("The server cannot be reached. The page tries again.");
    setPulse("lost");
    return;
  }
  shown.failure?.remove();
  shown.failure = problem(error);
  shown.element.prepend(shown.failure);
}

async function navigate() {
  turn += 1;
  rounds = 0;
  clearTimeout(timer);
  const path = location.hash.replace(/^#/, "").split("?")[0] || "/overview";
  if (location.hash === "#main") return;
  const route = ROUTES.find(([pattern]) => pattern.test(path));
  if (!route) { location.replace("#/overview"); return; }
  const [pattern, make, active] = route;
  const parts = pattern.exec(path).slice(1).map((part) => (part === undefined ? undefined : decodeURIComponent(part)));
  // Between tabs of one job the page stays, and only its inner part changes.
  if (page?.accepts?.(path, parts)) {
    page.show(parts);
  } else {
    page?.dispose?.();
    page = make({ parts, config, announce, api, refresh });
    replace(main, page.element);
    window.scrollTo(0, 0);
  }
  showNav(active);
  setTitle();
  await refresh();
  setTitle();
}

function setTitle() {
  document.title = page?.title ? `${page.title} – Penstock` : "Penstock";
}

function themeButton() {
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const show = () => {
    button.textContent = current() === "dark" ? "☀" : "☾";
    button.setAttribute("aria-label", current() === "dark" ? "Light colours" : "Dark colours");
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("penstock-theme", next); } catch { /* it holds for this page then */ }
    show();
  });
  dark.addEventListener("change", show);
  show();
}

async function begin() {
  try {
    config = await api.get("config");
  } catch (error) {
    replace(main, problem(error));
    setPulse("lost");
    setTimeout(begin, 2000);
    return;
  }
  window.addEventListener("hashchange", navigate);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  await navigate();
}

themeButton();
begin();
