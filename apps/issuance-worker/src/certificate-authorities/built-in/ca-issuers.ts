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
}

/** @param database also a transaction */
export async function readIssuers(database: Pick<DataSource, 'query'>): Promise<readonly StoredIssuer[]> {
  return await database.query<StoredIssuer[]>(
    `SELECT name, certificate, crl_next_update AS "crlNextUpdate", activated_at AS "activatedAt", retired_at AS "retiredAt"
     FROM ca_issuer ORDER BY name`,
  );
}

export const isRoot = ({ name }: Pick<StoredIssuer, 'name'>): boolean => /^root(-\d+)?$/.test(name);
