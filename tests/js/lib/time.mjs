// Time limits. Nothing here waits without one.

/** Rejects with an error naming `what` unless `promise` settles within `ms` milliseconds. */
export async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits `ms` milliseconds. */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `probe` every 50 ms until it returns something truthy, and returns that; throws after `ms` milliseconds. */
export async function until(ms, what, probe) {
  const deadline = Date.now() + ms;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() >= deadline) throw new Error(`${what}: not seen within ${ms} ms`);
    await pause(50);
  }
}
