import { createHash } from 'node:crypto';
import type { FindingEndpoint, FindingSource, Tx } from '@certwright/core-schema';
import type { ConcernedAccount, ConcernedName } from '@certwright/monitored-domains';
import type { Classification, Classified } from './classify';
import type { FindingKey } from './known-facts';

/** A certificate with the accounts that it concerns. */
export interface ConcernedIssuance {
  /** In the index; null: an entry that cannot be read. */
  readonly position: string | null;
  readonly tbsSha256: Buffer;
  readonly spkiSha256: Buffer | null;
  /** `ct_issuer.id` */
  readonly issuer: number | null;
  readonly notBefore: Date | null;
  readonly notAfter: Date;
  readonly dnsNames: readonly string[];
  readonly accounts: readonly ConcernedAccount[];
}

/** A finding before it is stored. */
export interface Candidate extends FindingKey {
  readonly issuance: ConcernedIssuance;
  readonly concerned: ConcernedAccount;
}

/** Names that are stored with a finding; the others are counted. */
const maxNames = 100;

export function candidatesOf(concerned: readonly ConcernedIssuance[]): Candidate[] {
  return concerned.map(withStorableDates).flatMap((issuance) =>
    issuance.accounts.map((account) => ({
      account: account.account,
      tbsSha256: issuance.tbsSha256,
      spkiSha256: issuance.spkiSha256,
      issuance,
      concerned: account,
    })),
  );
}

const [minDate, maxDate] = [new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')];

/** Certificates may have years that JSON and PostgreSQL write differently. */
function withStorableDates(issuance: ConcernedIssuance): ConcernedIssuance {
  const clamped = (date: Date) => (date < minDate ? minDate : date > maxDate ? maxDate : date);
  const { notBefore, notAfter } = issuance;
  return {
    ...issuance,
    notBefore: notBefore === null ? null : clamped(notBefore),
    notAfter: clamped(notAfter),
  };
}

export function classifiedOf({ concerned: { names, isComplete } }: Candidate, foundAt: Date): Classified {
  const monitoredNames = [...new Set(names.map(({ dnsName }) => dnsName))];
  return { monitoredNames, hasAllNames: isComplete, foundAt };
}

/** The stored names of a finding. */
export function namesOf({ concerned: { names } }: Candidate): readonly ConcernedName[] {
  return names.slice(0, maxNames);
}

/** Those that are hosts. */
export function hostsOf(candidate: Candidate): readonly string[] {
  const hosts = namesOf(candidate).filter(
    ({ dnsName, isWildcard, isOddName }) => !isWildcard && !isOddName && !dnsName.includes('*'),
  );
  return [...new Set(hosts.map(({ dnsName }) => dnsName))];
}

export interface NewFinding {
  readonly candidate: Candidate;
  readonly classification: Classification;
  readonly issuerSpkiSha256: Buffer | null;
  readonly previousTbsSha256: Buffer | null;
  readonly isAlerted: boolean;
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
export const storable = (text: string): string => text.replaceAll('\0', '\u{FFFD}').toWellFormed();

const bytea = (bytes: Buffer | null): string | null =>
  bytes === null ? null : `\\x${bytes.toString('hex')}`;

function rowOf(finding: NewFinding, foundAt: Date, source: FindingSource, backfillId: string | null): object {
  const { candidate, classification, issuerSpkiSha256, previousTbsSha256, isAlerted } = finding;
  const { account, tbsSha256, spkiSha256, issuance, concerned } = candidate;
  const endpoints = namesOf(candidate).map(
    ({ dnsName, monitoredDomain, isWildcard, isOddName }): FindingEndpoint => ({
      dns_name: storable(dnsName),
      monitored_domain: monitoredDomain,
      wildcard: isWildcard,
      odd_name: isOddName,
    }),
  );
  const allNames = [...issuance.dnsNames].sort().join('\n');
  return {
    account_id: account,
    tbs_sha256: bytea(tbsSha256),
    position: issuance.position,
    spki_sha256: bytea(spkiSha256),
    issuer_spki_sha256: bytea(issuerSpkiSha256),
    not_before: issuance.notBefore,
    not_after: issuance.notAfter,
    dns_names_sha256: bytea(createHash('sha256').update(allNames).digest()),
    endpoints,
    endpoint_count: concerned.names.length,
    dns_names: [...new Set(endpoints.map(({ dns_name }) => dns_name))],
    monitored_domains: [...new Set(endpoints.map(({ monitored_domain }) => monitored_domain))],
    previous_tbs_sha256: bytea(previousTbsSha256),
    source,
    backfill_id: backfillId,
    state: classification.state,
    reason: classification.reason,
    plan_id: classification.planId,
    found_at: foundAt,
    classify_at: classification.classifyAt,
    alert_due_at: isAlerted ? foundAt : null,
  };
}

export async function insertFindings(
  tx: Tx,
  findings: readonly NewFinding[],
  foundAt: Date,
  source: FindingSource,
  backfillId: string | null,
): Promise<void> {
  if (findings.length === 0) return;
  const rows = findings.map((finding) => rowOf(finding, foundAt, source, backfillId));
  await tx.query(insertStatement, [JSON.stringify(rows)]);
}

const columns = `account_id, tbs_sha256, position, spki_sha256, issuer_spki_sha256, not_before, not_after, dns_names_sha256,
  endpoints, endpoint_count, dns_names, monitored_domains, previous_tbs_sha256, source, backfill_id, state, reason, plan_id,
  found_at, classify_at, alert_due_at`;

const insertStatement = `
  INSERT INTO monitoring_finding (${columns})
  SELECT ${columns} FROM json_to_recordset($1::json) AS finding (
    account_id bigint, tbs_sha256 bytea, position bigint, spki_sha256 bytea, issuer_spki_sha256 bytea,
    not_before timestamptz, not_after timestamptz, dns_names_sha256 bytea, endpoints jsonb, endpoint_count int,
    dns_names text[], monitored_domains text[], previous_tbs_sha256 bytea, source text, backfill_id bigint, state text,
    reason text, plan_id bigint, found_at timestamptz, classify_at timestamptz, alert_due_at timestamptz)
  ON CONFLICT DO NOTHING`;
