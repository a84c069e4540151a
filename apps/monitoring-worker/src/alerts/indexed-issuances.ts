import {
  attributeText,
  commonNameType,
  formatDistinguishedName,
  organizationType,
  readDistinguishedName,
} from '@certwright/ct';
import { issuanceBodies, unpackBody } from '@certwright/ct-index';
import { type IssuerView, issuerViews } from '@certwright/issuer-profiles';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';

/** An issuance of the index, with its certificate and its issuer. */
export interface IndexedIssuance {
  readonly position: string;
  readonly tbsSha256: Buffer;
  readonly certSha256: Buffer;
  readonly spkiSha256: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly discoveredAt: Date;
  readonly dnsNames: readonly string[];
  readonly certDer: Buffer;
  readonly issuer: AlertIssuer;
}

export interface AlertIssuer {
  readonly friendlyName: string;
  /** RFC 2253. */
  readonly name: string;
  readonly spkiSha256: Buffer;
  readonly website: string | null;
  readonly caaDomains: readonly string[] | null;
  /** The organization that controls its key. */
  readonly operator: string | null;
  readonly problemReporting: string | null;
}

type Row = Omit<IndexedIssuance, 'certSha256' | 'certDer' | 'issuer'> & { readonly issuer: number };

/** Max stored bytes of certificates and of names that are read at once; a log entry may have 16 MB of each. */
const maxBytes = 16 * 1024 * 1024;

/** A page of the index. */
export interface IndexedPage {
  readonly issuances: ReadonlyMap<string, IndexedIssuance>;
  /** Positions that were not read, because those before them are long. */
  readonly rest: ReadonlySet<string>;
}

/** Reads what alerts say of certificates. */
@Injectable()
export class IndexedIssuances {
  constructor(private readonly ct: CtDatabase) {}

  /** As many as fit the size limit, at least one. Deleted ones are in no result. */
  async at(positions: readonly string[]): Promise<IndexedPage> {
    const bodies = await issuanceBodies(this.ct, positions, maxBytes);
    const last = BigInt(bodies.at(-1)?.position ?? -1);
    const rest = bodies.length === 0 ? [] : positions.filter((position) => BigInt(position) > last);
    const rows = await this.ct.query<Row[]>(
      `SELECT position, tbs_sha256 AS "tbsSha256", spki_sha256 AS "spkiSha256", issuer, not_before AS "notBefore",
         not_after AS "notAfter", discovered_at AS "discoveredAt", dns_names AS "dnsNames"
       FROM ct_issuance WHERE position = ANY ($1::bigint[])`,
      [bodies.map(({ position }) => position)],
    );
    const stored = new Map(rows.map((row) => [row.position, row]));
    const issuers = await issuerViews(this.ct, [...new Set(rows.map(({ issuer }) => issuer))]);
    const issuances = bodies.flatMap(({ position, certSha256, body }): IndexedIssuance[] => {
      const row = stored.get(position);
      const view = row === undefined ? undefined : issuers.get(row.issuer);
      if (row === undefined || view === undefined) return [];
      return [{ ...row, certSha256, certDer: unpackBody(body), issuer: alertIssuer(view) }];
    });
    return { issuances: new Map(issuances.map((each) => [each.position, each])), rest: new Set(rest) };
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

function alertIssuer({ friendlyName, nameDer, operator, ...view }: IssuerView): AlertIssuer {
  const name = formatDistinguishedName(nameDer);
  return {
    friendlyName: friendlyName ?? ownName(nameDer, name),
    name,
    spkiSha256: view.spkiSha256,
    website: view.website,
    caaDomains: view.caaDomains,
    operator: operator?.name ?? null,
    problemReporting: view.problemReporting,
  };
}

/** Without a curated name: the issuer's own one. */
function ownName(nameDer: Buffer, name: string): string {
  const levels = readDistinguishedName(nameDer) ?? [];
  const own = attributeText(levels, organizationType) ?? attributeText(levels, commonNameType) ?? name;
  return own.trim() === '' ? 'Unknown issuer' : own;
}
