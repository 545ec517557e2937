// The judge has to find fault. These tests show that it does.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Allowances } from "../conformance/allowances.mjs";
import { judge } from "../conformance/judge.mjs";

const run = { id: "r", scenarios: 1 };
const good = { id: "c", status: "SUCCESS" };
const none = () => new Allowances([]);
const entry = { scenario: "ext-*", check: "*", status: ["SKIPPED"], runs: ["r"], reason: "not there yet" };

/** The statuses of what the judge finds in one scenario. */
function found(checks, { scenario = "s", code = 0, allowances = none() } = {}) {
  return judge(run, { scenarios: new Map([[scenario, checks]]), code }, allowances).findings.map(({ status }) => status);
}

test("a clean run has no findings", () => {
  assert.deepEqual(found([good, { id: "i", status: "INFO" }]), []);
});

for (const status of ["FAILURE", "WARNING", "SKIPPED", "SOMETHING NEW", undefined]) {
  test(`a check with status ${status} is a finding`, () => {
    assert.deepEqual(found([good, { id: "c", status }]), [status ?? "NO STATUS"]);
  });
}

test("a scenario without checks.json is a finding", () => assert.deepEqual(found("it threw"), ["MISSING"]));
test("a scenario in which nothing succeeded is a finding", () => {
  assert.deepEqual(found([]), ["EMPTY"]);
  assert.deepEqual(found([{ id: "i", status: "INFO" }]), ["EMPTY"]);
  assert.deepEqual(found([{ id: "wire-schema-valid", status: "SUCCESS" }]), ["EMPTY"]);
});

test("too few and too many scenarios are findings", () => {
  const noneRan = judge(run, { scenarios: new Map(), code: 0 }, none());
  const twoRan = judge(run, { scenarios: new Map([["a", [good]], ["b", [good]]]), code: 0 }, none());
  assert.deepEqual([noneRan, twoRan].map(({ findings }) => findings[0].status), ["COUNT", "COUNT"]);
});

test("an exit code that no check explains is a finding", () => {
  assert.deepEqual(found([good], { code: 1 }), ["EXIT"]);
  assert.deepEqual(found([{ id: "c", status: "FAILURE" }], { code: 1 }), ["FAILURE"]);
  assert.deepEqual(found([{ id: "c", status: "FAILURE" }], { code: 7 }), ["FAILURE", "EXIT"]);
});

test("an allowance covers its scenarios, statuses and runs, and no others", () => {
  const skipped = [good, { id: "c", status: "SKIPPED" }];
  const allowances = new Allowances([entry]);
  assert.deepEqual(found(skipped, { scenario: "ext-a", allowances }), []);
  assert.deepEqual(found(skipped, { scenario: "a", allowances }), ["SKIPPED"]);
  assert.deepEqual(found([{ id: "c", status: "FAILURE" }], { scenario: "ext-a", allowances }), ["FAILURE"]);
  assert.equal(allowances.allow("other", { scenario: "ext-a", check: "c", status: "SKIPPED" }), false);
});

test("an allowance that matched nothing is stale, one that did is not", () => {
  const allowances = new Allowances([entry]);
  assert.equal(allowances.stale(["r"]).length, 1);
  assert.equal(allowances.stale(["another run"]).length, 0);
  allowances.allow("r", { scenario: "ext-a", check: "c", status: "SKIPPED" });
  assert.equal(allowances.stale(["r"]).length, 0);
});

test("an allowance without a reason is refused", () => {
  assert.throws(() => new Allowances([{ ...entry, reason: "" }]), /lacks reason/);
});
