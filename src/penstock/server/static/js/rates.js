// Rates out of totals: over some seconds, since a job counts batch by batch.

const SPAN = 12_000;

export class Rates {
  constructor() { this.samples = new Map(); }

  // Takes a total at a time; returns how fast it has grown per second, or null at the first one.
  add(key, total, at) {
    const samples = this.samples.get(key) ?? [];
    this.samples.set(key, samples);
    const last = samples[samples.length - 1];
    // A restart begins to count anew.
    if (last && (total < last[1] || at < last[0])) samples.length = 0;
    if (!last || at > last[0]) samples.push([at, total]);
    while (samples.length > 2 && samples[1][0] < at - SPAN) samples.shift();
    const [first, now] = [samples[0], samples[samples.length - 1]];
    return now && now[0] > first[0] ? ((now[1] - first[1]) * 1000) / (now[0] - first[0]) : null;
  }
}
