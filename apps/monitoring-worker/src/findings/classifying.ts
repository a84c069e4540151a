import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { LeasedRounds } from '../tasks/leased-rounds';
import type { TaskLease } from '../tasks/task-leases';
import { AccountTurns, dueInTurn } from './account-turns';
import { AlertWakeUp } from './alert-wake-up';
import { ExamineFindings, type FindingId } from './examine-findings';

/** Findings that are examined in one transaction. */
const maxFindings = 500;

/** Changes that are read by one statement. */
const maxChanges = 1_000;

/** Wait between rounds without work, ms. */
const pollMs = 500;

/** How often new certificates and changes of accounts are read, ms. */
const readMs = 2_000;

/** How long a transaction that stores a certificate or a change may take, ms: rows that were visible late are read again. */
const overlapMs = 120_000;

/** Once a day everything is examined again, ms: certificates of earlier releases get their TBS digest late. */
const sweepMs = 24 * 60 * 60 * 1_000;

/** Open findings that are examined page by page. */
interface Sweep {
  /** Null: all accounts. */
  readonly account: string | null;
  readonly after: FindingId;
}

const start: FindingId = { account: '0', tbsSha256: Buffer.alloc(0) };

/** What the process that has the task knows. It is not stored: the next one examines everything once. */
interface Progress {
  sweeps: Sweep[];
  readAtMs: number;
  sweptAtMs: number;
  /** Certificates created since then are read. */
  certificatesSince: Date | null;
  /** Changes of settings that are not final: they are applied at once, and again when they are. */
  sweptFor: ReadonlySet<string>;
  /** The last change that was applied. */
  changes: Pick<Change, 'transactionId' | 'id'> | null;
}

/** Decides waiting findings, and finds those that a new certificate, an authorized key or a setting makes known. */
@Injectable()
export class Classifying implements OnModuleInit {
  private readonly turns = new AccountTurns();
  private progress = fresh();

  constructor(
    private readonly rounds: LeasedRounds,
    private readonly database: DataSource,
    private readonly findings: ExamineFindings,
    private readonly alerts: AlertWakeUp,
  ) {}

  onModuleInit(): void {
    this.rounds.add(
      'classifying',
      async (lease) => await this.round(lease),
      () => (this.progress = fresh()),
    );
  }

  async round(lease: TaskLease, nowMs = performance.now()): Promise<number> {
    const due = await this.due();
    await this.examine(lease, due);
    if (nowMs - this.progress.sweptAtMs >= sweepMs) {
      this.progress.sweptAtMs = nowMs;
      this.progress.sweeps.push({ account: null, after: start });
    }
    if (nowMs - this.progress.readAtMs >= readMs) {
      await this.examineWithNewCertificates(lease);
      await this.examineWithNewKnownObjects(lease);
      this.progress.readAtMs = nowMs;
    }
    // Shares are rounded down: with fewer, none was cut.
    const mayHaveMore = due.length >= maxFindings / 2;
    return (await this.sweep(lease)) || mayHaveMore ? 0 : pollMs;
  }

  private async examine(lease: TaskLease, ids: readonly FindingId[]): Promise<void> {
    for (let at = 0; at < ids.length; at += maxFindings) {
      const alerted = await this.findings.examine(lease, ids.slice(at, at + maxFindings));
      if (alerted > 0) this.alerts.wake();
    }
  }

  /** The oldest of each account in turn. */
  private async due(): Promise<readonly FindingId[]> {
    return await this.turns.next(
      maxFindings,
      async (after) => await this.database.query<FindingId[]>(dueStatement, [maxFindings, after]),
    );
  }

  private async examineWithNewCertificates(lease: TaskLease): Promise<void> {
    const { certificatesSince } = this.progress;
    const [{ now }] = await this.database.query<[{ now: Date }]>(`SELECT clock_timestamp() AS now`);
    const since = certificatesSince ?? now;
    const ids = await this.database.query<FindingId[]>(
      `SELECT finding.account_id AS account, finding.tbs_sha256 AS "tbsSha256"
       FROM certificate JOIN monitoring_finding AS finding
         ON finding.account_id = certificate.account_id AND finding.tbs_sha256 = certificate.tbs_sha256
       WHERE certificate.created_at >= $1 AND finding.state IN ('waiting', 'unknown')`,
      [new Date(since.getTime() - overlapMs)],
    );
    await this.examine(lease, ids);
    // Not before: what could not be examined is read again.
    this.progress.certificatesSince = now;
  }

  /**
   * Examines findings that changes of their accounts may make known. The cursor moves over changes that no running transaction
   * precedes (docs/decisions/0016-monitored-domains.md).
   */
  private async examineWithNewKnownObjects(lease: TaskLease): Promise<void> {
    const cursor = this.progress.changes;
    if (cursor === null) {
      const [{ first }] = await this.database.query<[{ first: string }]>(
        `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS first`,
      );
      this.progress.changes = { transactionId: first, id: '0' };
      return;
    }
    const changes = await this.changesAfter(cursor);
    const ids = await this.database.query<FindingId[]>(knownStatement, [
      ofObject(changes, 'known_cert').map(({ name }) => name),
      ofObject(changes, 'known_key').map(({ name }) => name),
    ]);
    await this.examine(lease, ids);
    const settings = ofObject(changes, 'settings');
    const { sweptFor } = this.progress;
    const toSweep = settings.filter((change) => change.isFinal || !sweptFor.has(change.id));
    for (const account of new Set(toSweep.map((change) => change.account)))
      this.progress.sweeps.push({ account, after: start });
    this.progress.sweptFor = new Set(settings.filter(({ isFinal }) => !isFinal).map(({ id }) => id));
    // Pages are of different times: what precedes the first one that is not final is.
    const end = changes.findIndex(({ isFinal }) => !isFinal);
    const last = changes[(end < 0 ? changes.length : end) - 1];
    if (last !== undefined) this.progress.changes = last;
  }

  /** All of them: those that are not final are read again each time, and must not keep later ones from being read. */
  private async changesAfter({ transactionId, id }: Pick<Change, 'transactionId' | 'id'>): Promise<Change[]> {
    const changes: Change[] = [];
    for (let last = { transactionId, id }; ;) {
      const page = await this.database.query<Change[]>(changesStatement, [last.transactionId, last.id]);
      changes.push(...page);
      last = page.at(-1) ?? last;
      if (page.length < maxChanges) return changes;
    }
  }

  /** @returns whether there is more */
  private async sweep(lease: TaskLease): Promise<boolean> {
    const [sweep, ...rest] = this.progress.sweeps;
    if (sweep === undefined) return false;
    const ids = await this.database.query<FindingId[]>(
      `SELECT account_id AS account, tbs_sha256 AS "tbsSha256" FROM monitoring_finding
       WHERE state IN ('waiting', 'unknown') AND (account_id, tbs_sha256) > ($1, $2)
         ${sweep.account === null ? '' : 'AND account_id = $4'}
       ORDER BY account_id, tbs_sha256 LIMIT $3`,
      [
        sweep.after.account,
        sweep.after.tbsSha256,
        maxFindings,
        ...(sweep.account === null ? [] : [sweep.account]),
      ],
    );
    await this.examine(lease, ids);
    const last = ids.at(-1);
    const isOver = ids.length < maxFindings || last === undefined;
    this.progress.sweeps = isOver ? rest : [{ ...sweep, after: last }, ...rest];
    return this.progress.sweeps.length > 0;
  }
}

interface Change {
  readonly id: string;
  readonly transactionId: string;
  readonly account: string;
  readonly object: string;
  readonly name: string;
  readonly isFinal: boolean;
}

const ofObject = (changes: readonly Change[], object: string): readonly Change[] =>
  changes.filter((change) => change.object === object);

const dueStatement = `
  ${dueInTurn('classify_at')}
  SELECT account_id AS account, tbs_sha256 AS "tbsSha256" FROM due ORDER BY account_id, due_at`;

/**
 * A recent change is not final, either: a transaction that did not see it may have stored a finding that is not visible yet. That
 * transaction may have begun later than the one of the change.
 */
const changesStatement = `
  SELECT id, transaction_id AS "transactionId", account_id AS account, object, name,
    transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      AND changed_at < clock_timestamp() - interval '${overlapMs} ms' AS "isFinal"
  FROM monitoring_change
  WHERE (transaction_id, id) > ($1, $2) AND object IN ('known_cert', 'known_key', 'settings')
  ORDER BY transaction_id, id LIMIT ${maxChanges}`;

/** $1 known certificates, $2 known keys. One that was deleted again makes nothing known. */
const knownStatement = `
  SELECT finding.account_id AS account, finding.tbs_sha256 AS "tbsSha256"
  FROM known_cert JOIN monitoring_finding AS finding
    ON finding.account_id = known_cert.account_id AND finding.tbs_sha256 = known_cert.tbs_sha256
  WHERE known_cert.id = ANY ($1::bigint[]) AND finding.state IN ('waiting', 'unknown')
  UNION
  SELECT finding.account_id, finding.tbs_sha256
  FROM known_key JOIN monitoring_finding AS finding
    ON finding.account_id = known_key.account_id AND finding.spki_sha256 = known_key.spki_sha256
  WHERE known_key.id = ANY ($2::bigint[]) AND finding.state IN ('waiting', 'unknown')`;

const fresh = (): Progress => ({
  sweeps: [],
  readAtMs: -Infinity,
  sweptAtMs: -Infinity,
  certificatesSince: null,
  sweptFor: new Set(),
  changes: null,
});
