// Numbers, times and sizes as the page shows them.

/** Returns a count with separators of thousands. */
export function count(value: number): string {
  return value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Returns a count and the singular or plural of its noun. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Returns a duration of microseconds in ms, with one decimal below 10 ms. */
export function duration(micros: number): string {
  const ms = micros / 1000;
  return `${ms < 10 ? ms.toFixed(1) : count(Math.round(ms))} ms`;
}

/** Returns a number of bytes with its unit (kB = 1,000 bytes). */
export function size(bytes: number): string {
  if (bytes < 1000) {
    return `${bytes} B`;
  }
  const kilo = bytes / 1000;
  if (kilo < 999.5) {
    return `${kilo < 9.95 ? kilo.toFixed(1) : Math.round(kilo)} kB`;
  }
  const mega = kilo / 1000;
  return `${mega < 9.95 ? mega.toFixed(1) : count(Math.round(mega))} MB`;
}

const BYTES_OF_A_TOKEN = 4;

/** Returns the size of a definition, and about how many tokens a model spends on it. */
export function modelSize(bytes: number): string {
  const tokens = Math.ceil(bytes / BYTES_OF_A_TOKEN);
  const rounded = tokens < 1000 ? count(tokens) : `${(tokens / 1000).toFixed(1)}k`;
  return `${size(bytes)}, about ${rounded} tokens`;
}

/** Returns the time since the start of the Inspector, as `1:02.345` or `1:00:02.345`. */
export function clock(micros: number): string {
  const ms = Math.floor(micros / 1000);
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const tail = `${pad(seconds % 60, 2)}.${pad(ms % 1000, 3)}`;
  return hours > 0 ? `${hours}:${pad(minutes % 60, 2)}:${tail}` : `${minutes}:${tail}`;
}

function pad(value: number, width: number): string {
  return value.toString().padStart(width, "0");
}
