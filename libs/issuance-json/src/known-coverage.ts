import { coverageIn, type NamedList } from '@certwright/ct-index';
import type { EntityManager } from 'typeorm';

/** How long list data is cached, ms: lists are fetched every few hours. Revocations are read with each page. */
const keptMs = 10_000;

/** Max cached lists; all public CAs together have some ten thousand. */
const maxKept = 50_000;

interface Kept {
  readonly checkedAt: Date | null;
  readonly untilMs: number;
}

/** Valid, fresh and complete revocation lists: few, and the same on every page. */
export class KnownCoverage {
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** As `Coverage` says. @throws what the reader throws */
  async of(
    reader: Pick<EntityManager, 'query'>,
    lists: readonly NamedList[],
  ): Promise<readonly (Date | null)[]> {
    const known = lists.map((list) => this.kept.get(keyOf(list)));
    const isFresh = (kept: Kept | undefined) => kept !== undefined && this.nowMs() < kept.untilMs;
    const missing = lists.filter((_, nth) => !isFresh(known[nth]));
    if (missing.length > 0) this.keep(missing, await coverageIn(reader)(missing));
    return lists.map(
      (list, nth) => (isFresh(known[nth]) ? known[nth] : this.kept.get(keyOf(list)))?.checkedAt ?? null,
    );
  }

  private keep(lists: readonly NamedList[], checkedAt: readonly (Date | null)[]): void {
    const untilMs = this.nowMs() + keptMs;
    for (const [nth, list] of lists.entries()) {
      this.kept.delete(keyOf(list));
      this.kept.set(keyOf(list), { checkedAt: checkedAt[nth] ?? null, untilMs });
    }
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= maxKept) break;
      this.kept.delete(oldest);
    }
  }
}

function keyOf({ issuer, crl }: NamedList): string {
  return `${issuer} ${crl}`;
}
