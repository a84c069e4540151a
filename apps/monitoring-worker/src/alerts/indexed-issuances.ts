import { issuanceBodies, type StoredIssuance } from '@certwright/ct-index';
import { certificateOf, type IssuanceFacts, issuerOf } from '@certwright/issuance-json';
import { issuerViews } from '@certwright/issuer-profiles';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';

/** An issuance of the index, with its certificate and its issuer. */
export interface IndexedIssuance extends IssuanceFacts {
  readonly issuer: NonNullable<IssuanceFacts['issuer']>;
  readonly certificate: NonNullable<IssuanceFacts['certificate']>;
}

/** Max stored bytes of certificates that are read at once; a log entry may have 16 MB. */
const maxBytes = 16 * 1024 * 1024;

export interface IndexedPage {
  /** By position. */
  readonly issuances: ReadonlyMap<string, IndexedIssuance>;
  /** Positions that were not read, because those before them are long. */
  readonly rest: ReadonlySet<string>;
}

/** A new certificate is on no list. */
const notKnown = { status: 'unknown', revokedAt: null, reason: null, checkedAt: null } as const;

const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** Reads what alerts say of certificates. */
@Injectable()
export class IndexedIssuances {
  constructor(private readonly ct: CtDatabase) {}

  /** As many as fit the size limit, at least one. Deleted ones are in no result. */
  async at(positions: readonly string[]): Promise<IndexedPage> {
    const bodies = await issuanceBodies(this.ct, positions, maxBytes);
    const last = BigInt(bodies.at(-1)?.position ?? -1);
    const rest = bodies.length === 0 ? [] : positions.filter((position) => BigInt(position) > last);
    const rows = await this.ct.query<StoredIssuance[]>(
      `SELECT position, tbs_sha256 || cert_sha256 || spki_sha256 AS digests, precertificate, issuer, crl, serial <> '' AS "hasSerial",
         ${ms('not_before')} AS "notBeforeMs", ${ms('not_after')} AS "notAfterMs", ${ms('discovered_at')} AS "discoveredAtMs",
         dns_names AS "dnsNames", NULL AS revocation
       FROM ct_issuance WHERE position = ANY ($1::bigint[])`,
      [bodies.map(({ position }) => position)],
    );
    const stored = new Map(rows.map((row) => [row.position, row]));
    const issuers = await issuerViews(this.ct, [...new Set(rows.map(({ issuer }) => issuer))]);
    const issuances = bodies.flatMap((body): IndexedIssuance[] => {
      const issuance = stored.get(body.position);
      const view = issuance === undefined ? undefined : issuers.get(issuance.issuer);
      if (issuance === undefined || view === undefined) return [];
      return [{ issuance, revocation: notKnown, issuer: issuerOf(view), certificate: certificateOf(body) }];
    });
    return {
      issuances: new Map(issuances.map((each) => [each.issuance.position, each])),
      rest: new Set(rest),
    };
  }

  /** Who controls the keys of issuers, by their SHA-256 in hexadecimal. */
  async operatorsOf(keys: readonly Buffer[]): Promise<ReadonlyMap<string, string>> {
    if (keys.length === 0) return new Map();
    const ids = await this.ct.query<{ id: number }[]>(
      `SELECT id FROM ct_issuer WHERE spki_sha256 = ANY ($1::bytea[])`,
      [keys],
    );
    const views = await issuerViews(
      this.ct,
      ids.map(({ id }) => id),
    );
    const known = [...views.values()].flatMap(({ spkiSha256, operator }) =>
      operator === null ? [] : [[spkiSha256.toString('hex'), operator.name] as const],
    );
    return new Map(known);
  }
}
