import { issuerViews } from '@certwright/issuer-profiles';
import type { EntityManager } from 'typeorm';
import { type Issuer, issuerOf } from './issuer';

/** How long issuer data is cached, ms. */
const keptMs = 60_000;

/** Max cached issuers; all public CAs together have some thousand. */
const maxKept = 20_000;

/** Max bytes of name and key of a cached one: real ones have less than a tenth, and one log entry may have 16 MB. */
const maxBytes = 16 * 1024;

interface Kept {
  readonly issuer: Issuer;
  readonly untilMs: number;
}

type Load = Promise<ReadonlyMap<number, Issuer>>;

/** Cached issuers: few, and the same on every page, so they are read once a minute. */
export class KnownIssuers {
  private readonly kept = new Map<number, Kept>();
  private readonly pending = new Map<number, Load>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /**
   * Requests that miss the same issuer at the same time share one statement. It has the time limit of the first request: if it
   * fails, the others run their own.
   *
   * @returns without missing issuers
   * @throws what the reader throws
   */
  async of(
    reader: Pick<EntityManager, 'query'>,
    ids: ReadonlySet<number>,
  ): Promise<ReadonlyMap<number, Issuer>> {
    const found = new Map<number, Issuer>();
    const missing: number[] = [];
    const others: (readonly [number, Load])[] = [];
    for (const id of ids) {
      const kept = this.kept.get(id);
      const load = this.pending.get(id);
      if (kept !== undefined && this.nowMs() < kept.untilMs) found.set(id, kept.issuer);
      else if (load === undefined) missing.push(id);
      else others.push([id, load]);
    }
    await this.load(reader, missing, found);
    const failed: number[] = [];
    for (const [id, load] of others) {
      const issuers = await load.catch(() => null);
      if (issuers === null) failed.push(id);
      else take(id, issuers, found);
    }
    await this.load(reader, failed, found);
    return found;
  }

  private async load(
    reader: Pick<EntityManager, 'query'>,
    ids: readonly number[],
    into: Map<number, Issuer>,
  ): Promise<void> {
    if (ids.length === 0) return;
    const load = issuerViews(reader, ids).then((views) => {
      const issuers = new Map([...views].map(([id, view]) => [id, issuerOf(view)]));
      for (const [id, issuer] of issuers) this.keep(id, issuer);
      return issuers;
    });
    for (const id of ids) this.pending.set(id, load);
    try {
      const issuers = await load;
      for (const id of ids) take(id, issuers, into);
    } finally {
      for (const id of ids) if (this.pending.get(id) === load) this.pending.delete(id);
    }
  }

  private keep(id: number, issuer: Issuer): void {
    this.kept.delete(id);
    if (issuer.nameDer.length + (issuer.spkiDer?.length ?? 0) > maxBytes) return;
    this.kept.set(id, { issuer, untilMs: this.nowMs() + keptMs });
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= maxKept) break;
      this.kept.delete(oldest);
    }
  }
}

function take(id: number, from: ReadonlyMap<number, Issuer>, into: Map<number, Issuer>): void {
  const issuer = from.get(id);
  if (issuer !== undefined) into.set(id, issuer);
}
