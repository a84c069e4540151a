import type { Tx } from '@certwright/core-schema';
import type { KnownFacts, OwnKey } from './classify';

/** One certificate that concerns one account. */
export interface FindingKey {
  readonly account: string;
  readonly tbsSha256: Buffer;
  /** Null: an entry that cannot be read. */
  readonly spkiSha256: Buffer | null;
}

export type StoredFacts = Omit<KnownFacts, 'isAuthorizedCa'>;

/** Max lists of names for which one key is known, so that an account with many of them does not delay the others. */
const maxLists = 1_000;

/** Identifies a digest of an account in a map. */
export const keyOf = (account: string, digest: Buffer): string => `${account}:${digest.toString('hex')}`;

/** What the database knows of findings. */
class FactsOfFindings {
  constructor(
    private readonly byTbs: ReadonlyMap<string, Pick<StoredFacts, 'certificatePlanId' | 'isKnownCert'>>,
    private readonly byKey: ReadonlyMap<string, Pick<StoredFacts, 'keys' | 'knownKeyNames'>>,
  ) {}

  of({ account, tbsSha256, spkiSha256 }: FindingKey): StoredFacts {
    return {
      certificatePlanId: null,
      isKnownCert: false,
      keys: [],
      knownKeyNames: [],
      ...this.byTbs.get(keyOf(account, tbsSha256)),
      ...(spkiSha256 === null ? {} : this.byKey.get(keyOf(account, spkiSha256))),
    };
  }
}

interface TbsRow {
  readonly account: string;
  readonly tbsSha256: Buffer;
  readonly certificatePlanId: string | null;
  readonly isKnownCert: boolean;
}

interface KeyRow {
  readonly account: string;
  readonly spkiSha256: Buffer;
  readonly keys:
    readonly { readonly planId: string; readonly dnsNames: string[]; readonly isOpen: boolean }[] | null;
  readonly knownKeyNames: readonly (readonly string[])[] | null;
}

/** Two statements for any number of findings. All lookups are by account and digest: nothing of other accounts is read. */
export async function factsOf(
  reader: Pick<Tx, 'query'>,
  findings: readonly FindingKey[],
): Promise<FactsOfFindings> {
  if (findings.length === 0) return new FactsOfFindings(new Map(), new Map());
  const withTbs = await reader.query<TbsRow[]>(tbsStatement, [
    findings.map(({ account }) => account),
    findings.map(({ tbsSha256 }) => tbsSha256),
  ]);
  const keys = new Map<string, FindingKey>();
  for (const each of findings) {
    if (each.spkiSha256 !== null) keys.set(keyOf(each.account, each.spkiSha256), each);
  }
  const withKeys = await reader.query<KeyRow[]>(keyStatement, [
    [...keys.values()].map(({ account }) => account),
    [...keys.values()].map(({ spkiSha256 }) => spkiSha256),
    maxLists,
  ]);
  return new FactsOfFindings(
    new Map(withTbs.map((row) => [keyOf(row.account, row.tbsSha256), row])),
    new Map(
      withKeys.map(({ account, spkiSha256, keys: own, knownKeyNames }) => [
        keyOf(account, spkiSha256),
        {
          keys: (own ?? []).map(({ dnsNames, ...key }): OwnKey => ({ ...key, dnsNames: new Set(dnsNames) })),
          knownKeyNames: (knownKeyNames ?? []).map((names) => new Set(names)),
        },
      ]),
    ),
  );
}

const tbsStatement = `
  SELECT * FROM (
    SELECT account_id AS account, tbs_sha256 AS "tbsSha256",
      (SELECT certificate.plan_id FROM certificate
       WHERE certificate.account_id = given.account_id AND certificate.tbs_sha256 = given.tbs_sha256
       LIMIT 1) AS "certificatePlanId",
      EXISTS (SELECT 1 FROM known_cert
        WHERE known_cert.account_id = given.account_id AND known_cert.tbs_sha256 = given.tbs_sha256) AS "isKnownCert"
    FROM unnest($1::bigint[], $2::bytea[]) AS given (account_id, tbs_sha256)) AS looked_up
  WHERE "certificatePlanId" IS NOT NULL OR "isKnownCert"`;

/**
 * Terms and open issuances exist before anything is sent to a CA, so that they decide about a precertificate that is logged
 * before the CA responds. $3: max lists of names of a key.
 */
const keyStatement = `
  SELECT * FROM (
    SELECT account_id AS account, spki_sha256 AS "spkiSha256",
      (SELECT json_agg(json_build_object('planId', plan_id::text, 'dnsNames', dns_names, 'isOpen', is_open)) FROM (
         SELECT plan_id, dns_names, bool_or(is_open) AS is_open FROM (
           (SELECT plan.id AS plan_id, terms.dns_names, EXISTS (
              SELECT 1 FROM issuance WHERE issuance.plan_id = plan.id AND issuance.terms_id = terms.id
                AND issuance.state = 'open') AS is_open
            FROM terms JOIN plan ON plan.id = terms.plan_id AND plan.account_id = given.account_id
            WHERE terms.spki_sha256 = given.spki_sha256 ORDER BY terms.id DESC LIMIT $3)
           UNION ALL
           (SELECT certificate.plan_id, certificate.dns_names, false FROM certificate
            WHERE certificate.account_id = given.account_id AND certificate.spki_sha256 = given.spki_sha256
            ORDER BY certificate.created_at DESC LIMIT $3)) AS own
         GROUP BY plan_id, dns_names) AS own) AS keys,
      (SELECT json_agg(dns_names) FROM (
         SELECT known_key.dns_names FROM known_key
         WHERE known_key.account_id = given.account_id AND known_key.spki_sha256 = given.spki_sha256
         ORDER BY known_key.created_at DESC LIMIT $3) AS known) AS "knownKeyNames"
    FROM unnest($1::bigint[], $2::bytea[]) AS given (account_id, spki_sha256)) AS looked_up
  WHERE keys IS NOT NULL OR "knownKeyNames" IS NOT NULL`;
