import { issuerViews } from '@certwright/ct-persistence';
import type { IndexReader } from '../ct-index/index-readers';
import { type Issuer, issuerOf } from './issuer';

/** How long what is known of an issuer is used again, ms. */
const keptMs = 60_000;

/** Issuers that are kept; all public CAs together have some thousand. */
const mostKept = 20_000;

interface Kept {
  readonly issuer: Issuer;
  readonly untilMs: number;
}

/** Who signed what: few, on every page the same, so they are read once in a minute. */
export class KnownIssuers {
  private readonly kept = new Map<number, Kept>();
  private readonly pending = new Map<number, Promise<ReadonlyMap<number, Issuer>>>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /**
   * Requests that miss the same issuer at the same time share one statement.
   *
   * @returns one that is not there is left out
   * @throws Problem `timeout`, `service_outage`
   */
  async of(reader: IndexReader, ids: ReadonlySet<number>): Promise<ReadonlyMap<number, Issuer>> {
    const found = new Map<number, Issuer>();
    const missing: number[] = [];
    for (const id of ids) {
      const kept = this.kept.get(id);
      if (kept !== undefined && this.nowMs() < kept.untilMs) found.set(id, kept.issuer);
      else missing.push(id);
    }
    this.load(
      reader,
      missing.filter((id) => !this.pending.has(id)),
    );
    const loads = missing.map((id) => [id, this.pending.get(id)] as const);
    for (const [id, load] of loads) {
      const issuer = (await load)?.get(id);
      if (issuer !== undefined) found.set(id, issuer);
    }
    return found;
  }

  private load(reader: IndexReader, ids: readonly number[]): void {
    if (ids.length === 0) return;
    const load = issuerViews(reader, ids).then((views) => {
      const issuers = new Map([...views].map(([id, view]) => [id, issuerOf(view)]));
      for (const [id, issuer] of issuers) this.keep(id, issuer);
      return issuers;
    });
    for (const id of ids) this.pending.set(id, load);
    const done = () => {
      for (const id of ids) this.pending.delete(id);
    };
    load.then(done, done);
  }

  private keep(id: number, issuer: Issuer): void {
    this.kept.delete(id);
    this.kept.set(id, { issuer, untilMs: this.nowMs() + keptMs });
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= mostKept) break;
      this.kept.delete(oldest);
    }
  }
}
