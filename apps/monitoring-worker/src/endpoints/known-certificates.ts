import type { CurrentCertificate } from '@certwright/endpoint-checks';
import { type Certificate, readCertificate } from '@certwright/pki';
import { DataSource } from 'typeorm';
import { Injectable } from '@nestjs/common';
import { type EndpointId, keyOf } from './due-endpoints.repository';

/** What an account has for a name. */
export interface OwnCertificates {
  /** The newest of each order or certificate object. */
  readonly current: readonly CurrentCertificate[];
  /** CAs of the chains of these; an imported one may have any chain. */
  readonly issuers: readonly Certificate[];
}

interface CurrentRow extends EndpointId, CurrentCertificate {
  readonly chainSha256: string;
}

/** Max current certificates of an account for one name that are compared. */
const maxCurrent = 20;

/** Max chains in memory: those of a CA are few. */
const maxChains = 1_000;

/** The certificates that accounts have here. */
@Injectable()
export class KnownCertificates {
  /** CAs of chains, by digest. */
  private chains = new Map<string, readonly Certificate[]>();

  constructor(private readonly database: DataSource) {}

  /** By key of the endpoint. */
  async currentFor(endpoints: readonly EndpointId[]): Promise<ReadonlyMap<string, OwnCertificates>> {
    const rows = await this.database.query<CurrentRow[]>(currentStatement, [
      endpoints.map(({ account }) => account),
      endpoints.map(({ dnsName }) => dnsName),
      endpoints.map(({ dnsName }) => dnsName.replace(/^[^.]*/, '*')),
      maxCurrent,
    ]);
    await this.loadChains(rows.map(({ chainSha256 }) => chainSha256));
    const groups = Map.groupBy(rows, keyOf);
    return new Map(
      endpoints.map((endpoint) => {
        const current = groups.get(keyOf(endpoint)) ?? [];
        const issuers = current.flatMap(({ chainSha256 }) => this.chains.get(chainSha256) ?? []);
        return [keyOf(endpoint), { current, issuers }];
      }),
    );
  }

  /** When the account requested the revocation of its certificates. @returns by account and digest */
  async revokedAt(
    certificates: readonly { readonly account: string; readonly tbsSha256: Buffer }[],
  ): Promise<ReadonlyMap<string, Date>> {
    if (certificates.length === 0) return new Map();
    const rows = await this.database.query<{ account: string; tbs: string; revokedAt: Date }[]>(
      `SELECT account_id AS account, encode(tbs_sha256, 'hex') AS tbs, min(revoked_at) AS "revokedAt" FROM certificate
       WHERE (account_id, tbs_sha256) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[])) AND revoked_at IS NOT NULL
       GROUP BY account_id, tbs_sha256`,
      [certificates.map(({ account }) => account), certificates.map(({ tbsSha256 }) => tbsSha256)],
    );
    return new Map(rows.map(({ account, tbs, revokedAt }) => [`${account}:${tbs}`, revokedAt]));
  }

  private async loadChains(digests: readonly string[]): Promise<void> {
    const missing = [...new Set(digests)].filter((digest) => !this.chains.has(digest));
    if (missing.length === 0) return;
    if (this.chains.size + missing.length > maxChains) this.chains = new Map();
    const rows = await this.database.query<{ digest: string; chain: Buffer[] }[]>(
      `SELECT encode(sha256, 'hex') AS digest, chain FROM certificate_chain
       WHERE sha256 IN (SELECT decode(digest, 'hex') FROM unnest($1::text[]) AS digest)`,
      [[...new Set(digests)]],
    );
    for (const { digest, chain } of rows) this.chains.set(digest, chain.flatMap(certificateOf));
  }
}

function certificateOf(der: Uint8Array): readonly Certificate[] {
  const reading = readCertificate(der);
  return reading.ok ? [reading.certificate] : [];
}

/** $1 accounts, $2 names, $3 wildcards that cover them, $4 max of each. */
const currentStatement = `
  SELECT given.account_id AS account, given.dns_name AS "dnsName", encode(found.sha256, 'hex') AS sha256,
    found.not_before AS "notBefore", found.created_at AS "issuedAt", encode(found.chain_sha256, 'hex') AS "chainSha256"
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (account_id, dns_name, wildcard) CROSS JOIN LATERAL (
    SELECT certificate.sha256, not_before, certificate.created_at, chain_sha256
    FROM certificate JOIN plan ON plan.id = certificate.plan_id AND plan.closed_at IS NULL
    WHERE is_current AND dns_names && ARRAY[given.dns_name, given.wildcard]
      AND certificate.account_id = given.account_id AND revoked_at IS NULL
    ORDER BY certificate.created_at DESC LIMIT $4) AS found`;
