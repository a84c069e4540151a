import type { EntityManager } from 'typeorm';

/** A list as a certificate names it. */
export interface NamedCrl {
  readonly issuer: number;
  /** http or https; at most 1 KiB of ASCII. */
  readonly url: string;
  /** When the certificate ends. */
  readonly notAfter: Date;
}

/** Lists that this process remembers. All public CAs together have some ten thousand. */
const maxKept = 50_000;

/**
 * Lists of one issuer. Public CAs shard into hundreds; one that puts a list of its own into each certificate has no status for
 * those that come after.
 */
export const maxCrlsPerIssuer = 5_000;

/**
 * Hosts with lists of one issuer; public CAs have one or two. An intermediate CA in wrong hands could have all places asked at slow
 * hosts of its own otherwise.
 */
export const maxHostsPerIssuer = 16;

/** How much longer than asked for a list is said to be needed, ms: so that it is said rarely. */
const moreMs = 30 * 86_400_000;

interface Kept {
  readonly id: number | null;
  readonly neededUntilMs: number;
}

/** The ids of lists in this process: they never change. */
export class CrlIds {
  private kept = new Map<string, Kept>();
  /** Apart, so that an issuer with ever new ones does not displace the lists of others. */
  private refused = new Map<string, Kept>();

  /**
   * Before a transaction is begun: a row that two writers make at the same time makes one of them wait.
   *
   * @returns in the order given; null: this issuer has too many
   */
  async ensure(
    database: Pick<EntityManager, 'query'>,
    named: readonly (NamedCrl | null)[],
  ): Promise<readonly (number | null)[]> {
    if (this.kept.size > maxKept) this.kept = new Map();
    if (this.refused.size > maxKept) this.refused = new Map();
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

/** Who is asked: a host that answers by http may have nothing at the port for https, and rest for that. */
function hostOf(url: string): string {
  const { protocol, port, host } = new URL(url);
  return protocol === 'https:' && port === '' ? `${host}:443` : host;
}

function keyOf({ issuer, url }: NamedCrl): string {
  return `${issuer} ${url}`;
}
