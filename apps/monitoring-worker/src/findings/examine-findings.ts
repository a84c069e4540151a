import { type FindingSource, Transactions, type Tx } from '@certwright/core-schema';
import { AccountEvents } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { type Classification, classify } from './classify';
import { databaseTime } from './finding-accounts';
import { FindingMetrics } from './finding-metrics';
import { IssuerSignatures } from './issuer-signature';
import { factsOf, type FindingKey, keyOf } from './known-facts';

/** Identifies a finding. */
export type FindingId = Pick<FindingKey, 'account' | 'tbsSha256'>;

/** A finding that is not final. */
interface OpenFinding extends FindingKey {
  readonly position: string | null;
  readonly state: 'waiting' | 'unknown';
  readonly source: FindingSource;
  readonly backfillId: string | null;
  readonly foundAt: Date;
  readonly dnsNames: readonly string[];
  readonly hasAllNames: boolean;
  readonly alertDelayMs: number;
  readonly authorizedCas: readonly string[];
}

type Changed = FindingId &
  Classification & {
    readonly isAlerted: boolean;
    readonly source: FindingSource;
    readonly backfillId: string | null;
  };

/** Classifies findings again that are not final. */
@Injectable()
export class ExamineFindings {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly signatures: IssuerSignatures,
    private readonly events: AccountEvents,
    private readonly metrics: FindingMetrics,
  ) {}

  /**
   * A waiting finding is decided; an unknown one can become known. What was not sent yet of one that becomes known is
   * canceled. An acknowledged one stays.
   *
   * @returns how many are to be alerted now
   */
  async examine(lease: TaskLease, ids: readonly FindingId[]): Promise<number> {
    if (ids.length === 0) return 0;
    // The signatures are in the index: they are verified before the rows are locked.
    const authorized = await this.authorizedOf(await openFindings(this.database, ids, ''));
    return await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const { now } = await databaseTime(tx);
      const findings = await openFindings(tx, ids, 'FOR UPDATE OF finding');
      const facts = await factsOf(tx, findings);
      const changed = findings.flatMap((finding): Changed[] => {
        const { account, tbsSha256, dnsNames, hasAllNames, foundAt, source, backfillId } = finding;
        const known = { ...facts.of(finding), isAuthorizedCa: authorized.has(keyOf(account, tbsSha256)) };
        const classified = { monitoredNames: dnsNames, hasAllNames, foundAt };
        const delayMs = source === 'backfill' ? 0 : finding.alertDelayMs;
        const classification = classify(classified, known, delayMs, now);
        if (finding.state === 'unknown' && classification.state !== 'known') return [];
        const isAlerted = classification.state === 'unknown' && source !== 'backfill';
        return [{ account, tbsSha256, ...classification, isAlerted, source, backfillId }];
      });
      await store(tx, changed, now);
      const known = changed.filter(({ state }) => state === 'known');
      await this.events.cancel(
        tx,
        known.map(({ account, tbsSha256 }) => ({
          accountId: account,
          subject: `finding:${tbsSha256.toString('hex')}`,
        })),
      );
      this.metrics.decided(changed.filter(({ state }) => state !== 'waiting'));
      return changed.filter(({ isAlerted }) => isAlerted).length;
    });
  }

  /** Keys of findings whose certificates were signed by a CA that their account authorized. */
  private async authorizedOf(findings: readonly OpenFinding[]): Promise<ReadonlySet<string>> {
    const toVerify = findings.flatMap(({ position, tbsSha256, authorizedCas }) =>
      position === null || authorizedCas.length === 0 ? [] : [{ position, tbsSha256 }],
    );
    if (toVerify.length === 0) return new Set();
    const domains = await this.signatures.caaDomains(toVerify);
    return new Set(
      findings
        .filter(({ position, authorizedCas }) =>
          domains.get(position ?? '')?.some((domain) => authorizedCas.includes(domain)),
        )
        .map(({ account, tbsSha256 }) => keyOf(account, tbsSha256)),
    );
  }
}

async function openFindings(
  reader: Pick<Tx, 'query'>,
  ids: readonly FindingId[],
  lock: string,
): Promise<readonly OpenFinding[]> {
  return await reader.query(
    `SELECT finding.account_id AS account, finding.tbs_sha256 AS "tbsSha256", spki_sha256 AS "spkiSha256", position, state,
       source, backfill_id AS "backfillId", found_at AS "foundAt", dns_names AS "dnsNames",
       endpoint_count <= jsonb_array_length(endpoints) AS "hasAllNames",
       coalesce(alert_delay_minutes, 0) * 60000 AS "alertDelayMs", coalesce(authorized_cas, '{}') AS "authorizedCas"
     FROM monitoring_finding AS finding
     LEFT JOIN monitoring_settings AS settings ON settings.account_id = finding.account_id
     WHERE (finding.account_id, finding.tbs_sha256) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))
       AND state IN ('waiting', 'unknown')
     ORDER BY finding.account_id, finding.tbs_sha256 ${lock}`,
    [ids.map(({ account }) => account), ids.map(({ tbsSha256 }) => tbsSha256)],
  );
}

async function store(tx: Tx, changed: readonly Changed[], now: Date): Promise<void> {
  if (changed.length === 0) return;
  await tx.query(updateStatement, [
    changed.map(({ account }) => account),
    changed.map(({ tbsSha256 }) => tbsSha256),
    changed.map(({ state }) => state),
    changed.map(({ reason }) => reason),
    changed.map(({ planId }) => planId),
    changed.map(({ classifyAt }) => classifyAt),
    changed.map(({ isAlerted }) => (isAlerted ? now : null)),
  ]);
  const backfilled = changed.filter(({ state, source }) => state === 'unknown' && source === 'backfill');
  if (backfilled.length === 0) return;
  // Its summary may have been mailed: nothing else notifies the account of them. One that was superseded has no summary: the
  // newer one counts what it found.
  await tx.query(
    `UPDATE monitoring_backfill AS backfill SET unknown = unknown + given.findings, mail_due = state = 'done'
     FROM (
       SELECT CASE own.state WHEN 'canceled' THEN (
           SELECT min(newer.change_id) FROM monitoring_backfill AS newer
           WHERE newer.account_id = own.account_id AND newer.name = own.name AND newer.change_id > own.change_id
             AND newer.state <> 'canceled')
         ELSE own.change_id END AS id, count(*)::int AS findings
       FROM unnest($1::bigint[]) AS found_by (id) JOIN monitoring_backfill AS own ON own.change_id = found_by.id
       GROUP BY 1) AS given
     WHERE backfill.change_id = given.id`,
    [backfilled.map(({ backfillId }) => backfillId)],
  );
}

/** A finding that becomes known is neither alerted nor mailed. */
const updateStatement = `
  UPDATE monitoring_finding AS finding
  SET state = given.state, reason = given.reason, plan_id = given.plan_id, classify_at = given.classify_at,
    alert_due_at = given.alert_due_at, mail_due = false
  FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[])
    AS given (account_id, tbs_sha256, state, reason, plan_id, classify_at, alert_due_at)
  WHERE finding.account_id = given.account_id AND finding.tbs_sha256 = given.tbs_sha256`;
