// A traceback cut into what is the user's and what is not.

const FRAME = /^\s*(?:[>|+-]\s*)*File "(.+?)", line (\d+)(?:, in (.+))?/;
const FRAMEWORK = /[\\/](?:penstock|pyspark|py4j|site-packages|dist-packages)[\\/]|[\\/]lib[\\/]python3|^<frozen/;
const JAVA = /^\s*(?:at [\w$.<>]+\(|\.\.\. \d+ more|\.\.\. \d+ common)/;

// Returns [{kind: "text" | "user" | "framework", lines}] in order; a frame is its line and those
// of source below it.
export function cut(trace) {
  const parts = [];
  let kind = "text";
  for (const line of trace.replace(/\s+$/, "").split("\n")) {
    const frame = FRAME.exec(line);
    if (frame) kind = FRAMEWORK.test(frame[1]) ? "framework" : "user";
    else if (JAVA.test(line)) kind = "framework";
    // What is not further in than a frame is the exception's own text.
    else if (!/^\s{4,}\S/.test(line)) kind = "text";
    const last = parts[parts.length - 1];
    if (last && last.kind === kind && !(kind === "user" && frame)) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  return parts;
}

// The last line that says what happened: `ValueError: ...`.
export function conclusion(trace) {
  const lines = cut(trace ?? "").filter((part) => part.kind === "text").flatMap((part) => part.lines).map((line) => line.trim()).filter(Boolean);
  const named = lines.filter((line) => /^[\w.]+(?:Error|Exception|Interrupt|Exit|Warning|Failure)\b/.test(line));
  return named[named.length - 1] ?? lines[0] ?? "";
}
