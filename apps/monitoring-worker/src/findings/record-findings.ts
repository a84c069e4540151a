import type { FindingSource, Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';
import { classify } from './classify';
import {
  type FindingAccount,
  type FindingTime,
  databaseTime,
  lockAccounts,
  storeCounters,
} from './finding-accounts';
import { addEndpoints, type FoundEndpoint, lockEndpoints } from './found-endpoints';
import { FindingEvents } from './finding-events';
import { FindingMetrics } from './finding-metrics';
import { factsOf, keyOf } from './known-facts';
import {
  type Candidate,
  type ConcernedIssuance,
  type NewFinding,
  candidatesOf,
  classifiedOf,
  hostsOf,
  insertFindings,
  namesOf,
} from './new-finding';
import { previousFindings } from './previous-findings';

export type { ConcernedIssuance } from './new-finding';

/** Of new findings. */
export interface Recorded {
  readonly found: number;
  readonly unknown: number;
}

/** Records certificates that concern accounts, and decides whether they are known. */
@Injectable()
export class RecordFindings {
  constructor(
    private readonly ct: CtDatabase,
    private readonly events: FindingEvents,
    private readonly metrics: FindingMetrics,
  ) {}

  /**
   * Part of the transaction that moves the reader's cursor. A finding that exists stays as it is, so that a batch can be
   * recorded again.
   *
   * @param backfillId `change_id` of the `monitoring_backfill`; null for the stream
   */
  async record(
    tx: Tx,
    concerned: readonly ConcernedIssuance[],
    source: Extract<FindingSource, 'stream' | 'backfill'>,
    backfillId: string | null,
  ): Promise<Recorded> {
    const candidates = candidatesOf(concerned);
    if (candidates.length === 0) return { found: 0, unknown: 0 };
    const time = await databaseTime(tx);
    const ids = [...new Set(candidates.map(({ account }) => account))];
    await lockEndpoints(tx, endpointsOf(candidates));
    const accounts = await lockAccounts(tx, ids, time);
    const added = await newOnes(tx, candidates);
    const fresh = withinLimits(added, accounts);
    const findings = await this.classified(tx, fresh, accounts, time, source);
    await insertFindings(tx, findings, time.now, source, backfillId);
    await this.recordEndpoints(tx, fresh, accounts, source);
    await this.events.reportOverflows(tx, [...accounts.values()], time);
    await storeCounters(tx, [...accounts.values()], time);
    this.metrics.decided(findings.map(({ classification }) => classification));
    this.metrics.countThrottled(added.length - fresh.length);
    const unknown = findings.filter(({ classification }) => classification.state === 'unknown');
    return { found: findings.length, unknown: unknown.length };
  }

  private async classified(
    tx: Tx,
    fresh: readonly Candidate[],
    accounts: ReadonlyMap<string, FindingAccount>,
    { now }: FindingTime,
    source: FindingSource,
  ): Promise<readonly NewFinding[]> {
    const facts = await factsOf(tx, fresh);
    const issuers = await this.issuerKeys(fresh);
    const placed = fresh.flatMap((candidate) => {
      const { account, tbsSha256, issuance } = candidate;
      const dnsNames = [...new Set(namesOf(candidate).map(({ dnsName }) => dnsName))];
      return issuance.position === null
        ? []
        : [{ account, tbsSha256, position: issuance.position, dnsNames }];
    });
    const previous = await previousFindings(tx, placed, source);
    return fresh.map((candidate) => {
      const account = accounts.get(candidate.account);
      // The signature is verified by the task `classifying`: it reads the certificate.
      const isVerifiedLater =
        candidate.issuance.position !== null && (account?.authorizedCas.length ?? 0) > 0;
      const known = { ...facts.of(candidate), isAuthorizedCa: isVerifiedLater ? null : false };
      const classified = classifiedOf(candidate, now);
      // Nothing of a backfill is alerted: its summary must not count what is unknown as known.
      const delayMs = source === 'backfill' ? 0 : (account?.alertDelayMs ?? 0);
      const classification = classify(classified, known, delayMs, now);
      return {
        candidate,
        classification,
        issuerSpkiSha256: issuers.get(candidate.issuance.issuer ?? 0) ?? null,
        previousTbsSha256: previous.get(keyOf(candidate.account, candidate.tbsSha256)) ?? null,
        isAlerted: classification.state === 'unknown' && source !== 'backfill',
      };
    });
  }

  /** Not cached: after the index was restored, an id may be another issuer's. */
  private async issuerKeys(fresh: readonly Candidate[]): Promise<ReadonlyMap<number, Buffer>> {
    const ids = new Set(fresh.map(({ issuance: { issuer } }) => issuer).filter((id) => id !== null));
    if (ids.size === 0) return new Map();
    const rows = await this.ct.query<{ id: number; spki: Buffer }[]>(
      `SELECT id, spki_sha256 AS spki FROM ct_issuer WHERE id = ANY ($1::int[])`,
      [[...ids]],
    );
    return new Map(rows.map(({ id, spki }) => [id, spki]));
  }

  private async recordEndpoints(
    tx: Tx,
    fresh: readonly Candidate[],
    accounts: ReadonlyMap<string, FindingAccount>,
    source: FindingSource,
  ): Promise<void> {
    const added = await addEndpoints(tx, endpointsOf(fresh));
    if (source !== 'backfill') await this.events.reportNewEndpoints(tx, added, accounts);
  }
}

const endpointsOf = (candidates: readonly Candidate[]): readonly FoundEndpoint[] =>
  candidates.flatMap((candidate) =>
    hostsOf(candidate).map((dnsName) => ({
      account: candidate.account,
      dnsName,
      notAfter: candidate.issuance.notAfter,
    })),
  );

/** Each once, without findings that exist. The locks of the accounts keep others from adding them. */
async function newOnes(tx: Tx, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
  const existing = await tx.query<{ account: string; tbs: Buffer }[]>(
    `SELECT account_id AS account, tbs_sha256 AS tbs FROM monitoring_finding
     WHERE (account_id, tbs_sha256) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))`,
    [candidates.map(({ account }) => account), candidates.map(({ tbsSha256 }) => tbsSha256)],
  );
  const seen = new Set(existing.map(({ account, tbs }) => keyOf(account, tbs)));
  return candidates.filter(({ account, tbsSha256 }) => {
    const key = keyOf(account, tbsSha256);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Counts findings, and leaves out those beyond the limit of their account. */
function withinLimits(
  fresh: readonly Candidate[],
  accounts: ReadonlyMap<string, FindingAccount>,
): readonly Candidate[] {
  return fresh.filter(({ account: id }) => {
    const account = accounts.get(id);
    if (account === undefined) return false;
    if (account.found >= account.maxFindings) {
      account.throttled += 1;
      return false;
    }
    account.found += 1;
    return true;
  });
}
