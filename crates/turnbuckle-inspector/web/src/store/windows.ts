// The rows of a long list that the page holds: those in view, and what was loaded around them.

import { signal } from "@preact/signals";

export type Part<Row> = { total: number; rows: Row[] };
export type Load<Row> = (from: number, count: number) => Promise<Part<Row>>;

const CHUNK = 100;
const MAX_CHUNKS = 12;

export class RowWindow<Row> {
  /** Grows with every change, so that views render again. */
  readonly changes = signal(0);
  readonly error = signal<string | undefined>(undefined);
  /** True until the first rows have come. */
  readonly isEmpty = signal(true);
  total = 0;

  private chunks = new Map<number, Row[]>();
  private loading = new Set<number>();
  private age = 0;
  private from = 0;
  private to = 1;
  private isRefreshing = false;
  private isStale = false;
  private readonly load: Load<Row>;

  constructor(load: Load<Row>) {
    this.load = load;
  }

  /** Returns a row, if it is loaded. */
  row(index: number): Row | undefined {
    return this.chunks.get(Math.floor(index / CHUNK))?.[index % CHUNK];
  }

  /** Loads rows that come into view. */
  show(from: number, to: number): void {
    this.from = from;
    this.to = Math.max(to, from + 1);
    for (const chunk of this.wanted()) {
      if (!this.chunks.has(chunk) && !this.loading.has(chunk)) {
        void this.fetch(chunk);
      }
    }
  }

  /** Loads the rows in view again. The old ones stay in view until the new ones are there. */
  async refresh(): Promise<void> {
    if (this.isRefreshing) {
      this.isStale = true;
      return;
    }
    this.isRefreshing = true;
    do {
      this.isStale = false;
      this.age += 1;
      this.loading.clear();
      const wanted = this.wanted();
      await Promise.all(wanted.map((chunk) => this.fetch(chunk)));
      for (const chunk of this.chunks.keys()) {
        if (!wanted.includes(chunk)) {
          this.chunks.delete(chunk);
        }
      }
    } while (this.isStale);
    this.isRefreshing = false;
    this.show(this.from, this.to);
  }

  private wanted(): number[] {
    const last = Math.max(0, Math.min(this.to, Math.max(this.total, 1)) - 1);
    const chunks: number[] = [];
    for (let at = Math.floor(this.from / CHUNK); at <= Math.floor(last / CHUNK); at += 1) {
      chunks.push(at);
    }
    return chunks.length > 0 ? chunks : [0];
  }

  private async fetch(chunk: number): Promise<void> {
    const age = this.age;
    this.loading.add(chunk);
    try {
      const { total, rows } = await this.loadChunk(chunk);
      if (age !== this.age) {
        return;
      }
      this.total = total;
      this.chunks.set(chunk, rows);
      this.error.value = undefined;
      this.isEmpty.value = false;
      this.drop(chunk);
    } catch (error) {
      if (age === this.age) {
        this.error.value = error instanceof Error ? error.message : String(error);
      }
    }
    this.loading.delete(chunk);
    this.changes.value += 1;
  }

  /** Loads a chunk. An answer can have fewer rows than were asked for: the next one goes on there. */
  private async loadChunk(chunk: number): Promise<Part<Row>> {
    const start = chunk * CHUNK;
    const { total, rows } = await this.load(start, CHUNK);
    while (rows.length < CHUNK && start + rows.length < total) {
      const more = await this.load(start + rows.length, CHUNK - rows.length);
      if (more.rows.length === 0) {
        break;
      }
      rows.push(...more.rows);
    }
    return { total, rows };
  }

  /** Drops the chunks that are farthest from the one that came last. */
  private drop(newest: number): void {
    const far = [...this.chunks.keys()].sort((a, b) => Math.abs(b - newest) - Math.abs(a - newest));
    for (const chunk of far.slice(0, Math.max(0, this.chunks.size - MAX_CHUNKS))) {
      this.chunks.delete(chunk);
    }
  }
}
