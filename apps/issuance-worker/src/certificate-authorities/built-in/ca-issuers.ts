import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A root or an intermediate of the built-in CA. */
export interface StoredIssuer {
  readonly name: string;
  /** DER. */
  readonly certificate: Buffer;
  /** When the newest revocation list ends; null: there is none. */
  readonly crlNextUpdate: Date | null;
  /** The intermediate that was activated last issues; null: not activated. */
  readonly activatedAt: Date | null;
  /** Since then, workers no longer need the key of the intermediate. */
  readonly retiredAt: Date | null;
}

/** The certificates of the built-in CA, which the key ceremony stores (ceremony/). */
@Injectable()
export class CaIssuers {
  constructor(private readonly database: DataSource) {}

  async all(): Promise<readonly StoredIssuer[]> {
    return await readIssuers(this.database);
  }

  /** Days, of the certificates that the built-in CA issues for available products; 0: it issues for none. */
  async longestLifetimeDays(): Promise<number> {
    const [{ days }] = await this.database.query<[{ days: number }]>(
      `SELECT coalesce(max(lifetime_days), 0) AS days FROM product
       WHERE available AND ('built-in' = certificate_authority OR authorities @> '[{"name": "built-in"}]')`,
    );
    return days;
  }
}

/**
 * Before the migration "ca-keys" the columns resolve to those of `earlier`: its intermediate issues, and is not retired.
 *
 * @param database also a transaction
 */
export async function readIssuers(database: Pick<DataSource, 'query'>): Promise<readonly StoredIssuer[]> {
  return await database.query<StoredIssuer[]>(
    `SELECT name, certificate, crl_next_update AS "crlNextUpdate", issuer.activated_at AS "activatedAt", issuer.retired_at AS "retiredAt"
     FROM (SELECT now() AS activated_at, NULL::timestamptz AS retired_at) AS earlier CROSS JOIN LATERAL
       (SELECT name, certificate, crl_next_update, activated_at, retired_at FROM ca_issuer) AS issuer
     ORDER BY name`,
  );
}

export const isRoot = ({ name }: Pick<StoredIssuer, 'name'>): boolean => /^root(-\d+)?$/.test(name);
