import { coverageIn, type NamedList } from '@certwright/ct-index';
import type { EntityManager } from 'typeorm';

/** How long list data is cached, ms: lists are fetched every few hours. Revocations are read with each page. */
const keptMs = 10_000;

/** Max cached lists; all public CAs together have some ten thousand. */
const maxKept = 50_000;

interface Kept {
  readonly checkedAt: Date | null;
  readonly readMs: number;
}

/** As `Coverage` says. */
interface CoverageOfPage {
  readonly checkedAt: readonly (Date | null)[];
  /** Some lists may be newer than what was read of the issuances on the page. */
  readonly isNewer: boolean;
}

/** Valid, fresh and complete revocation lists: few, and the same on every page. */
export class KnownCoverage {
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** @param sinceMs when the page began to be read, in `performance.now()` @throws what the reader throws */
  async of(
    reader: Pick<EntityManager, 'query'>,
    lists: readonly NamedList[],
    sinceMs: number,
  ): Promise<CoverageOfPage> {
    const known = lists.map((list) => this.kept.get(keyOf(list)));
    const isFresh = (kept: Kept | undefined) => kept !== undefined && this.nowMs() < kept.readMs + keptMs;
    const missing = lists.filter((_, nth) => !isFresh(known[nth]));
    if (missing.length > 0) this.keep(missing, await coverageIn(reader)(missing));
    const all = lists.map((list, nth) => (isFresh(known[nth]) ? known[nth] : this.kept.get(keyOf(list))));
    return {
      checkedAt: all.map((kept) => kept?.checkedAt ?? null),
      isNewer: all.some((kept) => kept !== undefined && kept.checkedAt !== null && kept.readMs >= sinceMs),
    };
  }

  private keep(lists: readonly NamedList[], checkedAt: readonly (Date | null)[]): void {
    const readMs = this.nowMs();
    for (const [nth, list] of lists.entries()) {
      this.kept.delete(keyOf(list));
      this.kept.set(keyOf(list), { checkedAt: checkedAt[nth] ?? null, readMs });
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
