// Numbers and times as people read them.

const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
// Flink's end of time; as a double it is a little more.
const END_OF_TIME = 9.2e18;

export const NONE = "–";

const known = (value) => value !== null && value !== undefined && Number.isFinite(Number(value));

export function count(value) {
  if (!known(value)) return NONE;
  const number = Number(value);
  if (Math.abs(number) < 100_000) return number.toLocaleString("en", { maximumFractionDigits: Number.isInteger(number) ? 0 : 2 });
  const [size, unit] = UNITS.find(([each]) => Math.abs(number) >= each);
  return `${trim(number / size)} ${unit}`;
}

function trim(number) {
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return number.toFixed(digits);
}

export function rate(perSecond) {
  if (!known(perSecond)) return NONE;
  if (perSecond > 0 && perSecond < 10) return `${trim(perSecond)}/s`;
  if (perSecond < 1000) return `${Math.round(perSecond)}/s`;
  const [size, unit] = UNITS.find(([each]) => perSecond >= each);
  return `${trim(perSecond / size)} ${unit}/s`;
}

export function bytes(value) {
  if (!known(value) || value < 0) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let number = Number(value), unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${unit === 0 ? number : trim(number)} ${units[unit]}`;
}

export function duration(ms) {
  if (!known(ms) || ms < 0) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / 1000)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m ${Math.floor((ms % MINUTE) / 1000)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} m`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

const two = (number) => String(number).padStart(2, "0");

export function clock(ms) {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function day(ms) {
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function time(ms) {
  if (!known(ms) || ms <= 0) return NONE;
  return day(ms) === day(Date.now()) ? clock(ms) : `${day(ms)} ${clock(ms)}`;
}

export const ended = (watermark) => known(watermark) && Number(watermark) >= END_OF_TIME;
export const unset = (watermark) => !known(watermark) || Number(watermark) <= -END_OF_TIME;

export function eventTime(watermark) {
  if (unset(watermark)) return NONE;
  if (ended(watermark)) return "input ended";
  const ms = Number(watermark);
  // Small numbers are a test's own clock, not dates.
  if (Math.abs(ms) < DAY) return `${count(ms)} ms`;
  return day(ms) === day(Date.now()) ? clock(ms) : `${day(ms)} ${clock(ms)}`;
}

export function percent(share) {
  if (!known(share)) return NONE;
  const value = share * 100;
  return `${value > 0 && value < 1 ? "<1" : Math.round(value)} %`;
}

const STATES = {
  CREATED: "created", INITIALIZING: "starting", SCHEDULED: "scheduled", DEPLOYING: "starting",
  RUNNING: "running", FAILING: "failing", FAILED: "failed", CANCELLING: "cancelling",
  CANCELING: "cancelling", CANCELED: "cancelled", FINISHED: "finished", RESTARTING: "restarting",
  SUSPENDED: "suspended", RECONCILING: "being found again", COMPLETED: "completed",
  IN_PROGRESS: "in progress",
};
export const stateWord = (state) => STATES[state] ?? String(state ?? "").toLowerCase();

export const TERMINAL = new Set(["FAILED", "CANCELED", "FINISHED", "SUSPENDED"]);
