import type { EntityManager } from 'typeorm';

/** A list as named in a certificate. */
export interface NamedCrl {
  readonly issuer: number;
  /** http or https; at most 1 KiB of ASCII. */
  readonly url: string;
  /** Expiry of the certificate. */
  readonly notAfter: Date;
}

/** Max cached lists, and max characters of their URLs. All public CAs together have some ten thousand, of fifty characters each. */
const maxKept = { lists: 50_000, characters: 4 * 1_048_576 };

/**
 * Max lists of one issuer. Public CAs use hundreds of shards; if one names a separate list in each certificate, later
 * ones have no status.
 */
export const maxCrlsPerIssuer = 5_000;

/**
 * Max hosts with lists of one issuer; public CAs have one or two. A compromised intermediate CA could otherwise occupy all fetches with
 * its own slow hosts.
 */
export const maxHostsPerIssuer = 16;

/** A list is marked as needed for this much longer than requested, ms, to reduce the number of updates. */
const moreMs = 30 * 86_400_000;

interface Kept {
  readonly id: number | null;
  readonly neededUntilMs: number;
}

class KeptLists {
  private readonly lists = new Map<string, Kept>();
  private characters = 0;

  get isFull(): boolean {
    return this.lists.size > maxKept.lists || this.characters > maxKept.characters;
  }

  get(key: string): Kept | undefined {
    return this.lists.get(key);
  }

  set(key: string, kept: Kept): void {
    if (!this.lists.has(key)) this.characters += key.length;
    this.lists.set(key, kept);
  }
}

/** The ids of lists in this process: they never change. */
export class CrlIds {
  private kept = new KeptLists();
  /** Separate, so that an issuer with many new ones does not evict the lists of others. */
  private refused = new KeptLists();

  /**
   * Before a transaction begins: two writers of the same row block each other.
   *
   * @returns in input order; null: this issuer exceeds the limit
   */
  async ensure(
    database: Pick<EntityManager, 'query'>,
    named: readonly (NamedCrl | null)[],
  ): Promise<readonly (number | null)[]> {
    if (this.kept.isFull) this.kept = new KeptLists();
    if (this.refused.isFull) this.refused = new KeptLists();
    const ids: (number | null)[] = [];
    for (const crl of named) ids.push(crl === null ? null : await this.id(database, crl));
    return ids;
  }

  private id(database: Pick<EntityManager, 'query'>, crl: NamedCrl): number | null | Promise<number | null> {
    const known = this.kept.get(keyOf(crl)) ?? this.refused.get(keyOf(crl));
    return known !== undefined && crl.notAfter.getTime() <= known.neededUntilMs
      ? known.id
      : this.insert(database, crl);
  }

  private async insert(database: Pick<EntityManager, 'query'>, crl: NamedCrl): Promise<number | null> {
    const neededUntilMs = crl.notAfter.getTime() + moreMs;
    const { issuer, url } = crl;
    const [row] = await database.query<{ id: number }[]>(
      `INSERT INTO ct_crl (issuer, url, host, needed_until)
       SELECT $1::int, $2::text, $3, to_timestamp($4::float8)
       WHERE EXISTS (SELECT FROM ct_crl WHERE issuer = $1 AND url = $2)
         OR ((SELECT count(*) FROM (SELECT FROM ct_crl WHERE issuer = $1 LIMIT $5::int) AS first) < $5
           AND (EXISTS (SELECT FROM ct_crl WHERE issuer = $1 AND host = $3)
             OR (SELECT count(DISTINCT host) FROM ct_crl WHERE issuer = $1) < $6::int))
       ON CONFLICT (issuer, url) DO UPDATE SET needed_until = greatest(ct_crl.needed_until, excluded.needed_until)
       RETURNING id`,
      [issuer, url, hostOf(url), neededUntilMs / 1_000, maxCrlsPerIssuer, maxHostsPerIssuer],
    );
    const id = row?.id ?? null;
    (id === null ? this.refused : this.kept).set(keyOf(crl), { id, neededUntilMs });
    return id;
  }
}

/** The requested host: one with http may have nothing at the https port, and must not rest for that. */
function hostOf(url: string): string {
  const { protocol, port, host } = new URL(url);
  return protocol === 'https:' && port === '' ? `${host}:443` : host;
}

function keyOf({ issuer, url }: NamedCrl): string {
  return `${issuer} ${url}`;
}
