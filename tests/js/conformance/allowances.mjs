// The list of what may go wrong, and why. An entry that nothing matches any more is an error as well.

const FIELDS = ["scenario", "check", "status", "runs", "reason"];
// `says` narrows an entry down to findings whose message holds it.

/** Holds the entries of `skips.json` and remembers which of them were needed. */
export class Allowances {
  #entries;
  #needed = new Set();

  /** Takes the parsed list; throws when an entry lacks a field, so that none is allowed without a reason. */
  constructor(entries) {
    for (const entry of entries) {
      const lacking = FIELDS.filter((field) => !entry[field] || entry[field].length === 0);
      if (lacking.length > 0) throw new Error(`skips.json: ${JSON.stringify(entry)} lacks ${lacking.join(", ")}`);
    }
    this.#entries = entries;
  }

  /** Whether an entry allows `finding` in the run called `run`. */
  allow(run, finding) {
    const matching = this.#entries.filter(
      (entry) =>
        entry.runs.includes(run) &&
        entry.status.includes(finding.status) &&
        matches(entry.scenario, finding.scenario) &&
        matches(entry.check, finding.check) &&
        (!entry.says || finding.message.includes(entry.says)),
    );
    for (const entry of matching) this.#needed.add(key(entry, run));
    return matching.length > 0;
  }

  /** The entries, one per run named in them, that matched nothing in the runs called `runs`. */
  stale(runs) {
    return this.#entries.flatMap((entry) =>
      entry.runs.filter((run) => runs.includes(run) && !this.#needed.has(key(entry, run))).map((run) => ({ ...entry, run })),
    );
  }
}

const key = (entry, run) => `${run} ${entry.scenario} ${entry.check} ${entry.status} ${entry.says ?? ""}`;

/** A pattern is a name, or the beginning of one and `*`. */
function matches(pattern, name) {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
