// The order of commands in the palette.

/** Returns how well words match a text; undefined if one of them is missing. Less is better. */
export function matchScore(text: string, query: string): number | undefined {
  const lower = text.toLowerCase();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word === "") {
      continue;
    }
    const at = lower.indexOf(word);
    if (at < 0) {
      return undefined;
    }
    const isStart = at === 0 || /[^a-z0-9]/.test(lower[at - 1] ?? " ");
    score += at + (isStart ? 0 : 50);
  }
  return score + lower.length / 100;
}

/** Returns the entries that match, the best first, equal ones in their order. */
export function rank<T>(entries: readonly T[], query: string, textOf: (entry: T) => string): T[] {
  const scored: { entry: T; score: number }[] = [];
  for (const entry of entries) {
    const score = matchScore(textOf(entry), query);
    if (score !== undefined) {
      scored.push({ entry, score });
    }
  }
  return scored.sort((a, b) => a.score - b.score).map(({ entry }) => entry);
}
