// What a suite's checks amount to. Stricter than the suite, whose exit code ignores warnings and skips.

const GOOD = new Set(["SUCCESS", "INFO"]);

/** The suite adds this check to every scenario, and it succeeds when nothing was received at all. */
const WIRE = "wire-schema-valid";

/**
 * Judges one run.
 * @param run its entry in the table of runs.
 * @param outcome `scenarios`, `code` and `last`, as `runSuite` returns them.
 * @param allowances the list of allowances; matches are noted there.
 * @returns `findings`: what stands against the server and nothing allows; `allowed`: what is allowed;
 *   `counts`: checks by status.
 */
export function judge(run, { scenarios, code, last }, allowances) {
  const counts = {};
  const found = [];
  for (const [scenario, checks] of scenarios) {
    for (const { status } of Array.isArray(checks) ? checks : []) counts[status] = (counts[status] ?? 0) + 1;
    found.push(...judgeScenario(scenario, checks));
  }

  const findings = [];
  const allowed = [];
  for (const finding of found) (allowances.allow(run.id, finding) ? allowed : findings).push(finding);

  if (scenarios.size !== run.scenarios) {
    const counted = `${scenarios.size} scenarios ran, ${run.scenarios} are expected`;
    findings.push(aboutRun("COUNT", `${counted}; the suite's last words: ${last}`));
  }
  const explained = found.some(({ status }) => status === "FAILURE" || status === "MISSING");
  if (code !== 0 && !(code === 1 && explained)) {
    findings.push(aboutRun("EXIT", `the suite ended with exit code ${code}, which no check explains`));
  }
  return { findings, allowed, counts };
}

function judgeScenario(scenario, checks) {
  if (!Array.isArray(checks)) {
    return [{ scenario, check: "-", status: "MISSING", message: `no checks.json: the scenario threw (${checks})` }];
  }
  const found = checks
    .filter(({ status }) => !GOOD.has(status))
    .map(({ id, status, errorMessage, description }) => ({
      scenario,
      check: id ?? "-",
      status: status ?? "NO STATUS",
      message: errorMessage ?? description ?? "",
    }));
  // Without this a server that does nothing passes scenarios that only look for wrong things.
  if (found.length === 0 && !checks.some(({ id, status }) => status === "SUCCESS" && id !== WIRE)) {
    found.push({ scenario, check: "-", status: "EMPTY", message: "no check succeeded" });
  }
  return found;
}

const aboutRun = (status, message) => ({ scenario: "-", check: "-", status, message });
