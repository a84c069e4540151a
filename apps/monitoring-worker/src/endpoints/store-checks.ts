import { Transactions, type Tx } from '@certwright/core-schema';
import {
  advance,
  type CheckOutcome,
  type EndpointAdvance,
  isBad,
  markReported,
  type TrackedFinding,
  withoutReports,
} from '@certwright/endpoint-checks';
import { type EndpointRow, storedServed } from '@certwright/monitored-endpoints';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import type { CheckedEndpoint } from './check-looks';
import { keyOf } from './due-endpoints.repository';
import { EndpointEvents } from './endpoint-events';
import { type EndpointReport, EndpointReports } from './endpoint-reports';
import { EndpointValve, type Hold } from './endpoint-valve';
import { checkAfterAttempts, type Intervals, nextCheck } from './schedule';

/** A row of `monitored_endpoint`. */
interface StoredEndpoint extends EndpointRow {
  readonly account: string;
  readonly check_due_at: Date;
  readonly served_at: Date | null;
  readonly gone_since: Date | null;
  readonly bad_since: Date | null;
  readonly held_since: Date | null;
  readonly attempts: number;
  readonly is_disabled: boolean;
}

/** What a check changes of a row. */
interface Change {
  readonly row: StoredEndpoint;
  readonly outcome: CheckOutcome | 'unanswered';
  /** Null: the check has no result. */
  readonly next: EndpointAdvance | null;
  readonly after: StoredEndpoint;
}

interface Stored {
  readonly changes: readonly Change[];
  readonly reports: readonly EndpointReport[];
  readonly begun: Hold | null;
}

const columns = `account_id AS account, dns_name, muted, ports, state, state_since, looked_at, findings, served,
  check_due_at, served_at, gone_since, bad_since, held_since, attempts`;

/** Stores the results of checks, and reports what they confirm, in one transaction. */
@Injectable()
export class StoreChecks {
  constructor(
    private readonly transactions: Transactions,
    private readonly reports: EndpointReports,
    private readonly valve: EndpointValve,
    private readonly events: EndpointEvents,
    @Inject(Config) private readonly intervals: Intervals,
  ) {}

  /** A result is stored once, whatever is repeated: it moves `check_due_at`. */
  async store(lease: TaskLease, checked: readonly CheckedEndpoint[], now: Date): Promise<void> {
    const { changes, reports, begun } = await this.transactions.run(async (tx): Promise<Stored> => {
      await lockTask(tx, lease);
      const changes = await this.changes(tx, checked, now);
      await update(
        tx,
        changes.map(({ after }) => after),
      );
      const wanted = changes.flatMap(wantedReports);
      if (wanted.length === 0) return { changes, reports: [], begun: null };
      // With the results of these checks.
      const { isHeld, begun } = await this.valve.check(tx, now);
      const reporting = changes.filter((change) => wantedReports(change).length > 0);
      await update(
        tx,
        reporting.map((change) => (isHeld ? heldBack(change, now) : reported(change, now))),
      );
      if (isHeld) return { changes, reports: [], begun };
      const reports = reporting.flatMap((change) =>
        wantedReports(change).map((report) => ({ ...report, endpoint: reported(change, now) })),
      );
      await this.reports.add(tx, reports, now);
      return { changes, reports, begun };
    });
    for (const { outcome, next } of changes) this.events.checked(outcome, next?.findings ?? []);
    for (const { kind } of reports) this.events.reported(kind);
    if (begun !== null) this.events.holdBegan(begun);
  }

  private async changes(tx: Tx, checked: readonly CheckedEndpoint[], now: Date): Promise<readonly Change[]> {
    const rows = await tx.query<StoredEndpoint[]>(
      `SELECT ${columns},
         (SELECT disabled_at IS NOT NULL FROM account WHERE account.id = account_id) AS is_disabled
       FROM monitored_endpoint WHERE (account_id, dns_name) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
       ORDER BY account_id, dns_name FOR UPDATE`,
      [checked.map(({ endpoint }) => endpoint.account), checked.map(({ endpoint }) => endpoint.dnsName)],
    );
    const byKey = new Map(rows.map((row) => [keyOf({ account: row.account, dnsName: row.dns_name }), row]));
    return checked.flatMap((each) => {
      const row = byKey.get(keyOf(each.endpoint));
      // Deleted meanwhile; or to be checked again, as its ports changed or a certificate was found.
      if (row === undefined || row.check_due_at.getTime() !== each.endpoint.claimedUntil.getTime()) return [];
      return [this.change(row, each, now)];
    });
  }

  private change(row: StoredEndpoint, { check, current }: CheckedEndpoint, now: Date): Change {
    const progress = { findings: row.findings, servedAt: row.served_at };
    const next = check === null ? null : advance(progress, check, now);
    if (check === null || next === null) {
      const attempts = row.attempts + 1;
      const dueAt = checkAfterAttempts(attempts, now, this.intervals, Math.random());
      return {
        row,
        outcome: check?.outcome ?? 'unanswered',
        next: null,
        after: { ...row, attempts, check_due_at: dueAt },
      };
    }
    const isServed = check.outcome === 'served';
    const goneSince = isServed ? null : (row.gone_since ?? now);
    const last = { isOpen: next.isOpen, goneSince, current };
    // A new endpoint that is bad did not turn bad.
    const wasGood = row.looked_at !== null && !isBad(row.findings);
    const after = {
      ...row,
      findings: withoutReports(next),
      served: storedServed(check.served),
      state: next.state,
      state_since: next.state === row.state ? row.state_since : now,
      looked_at: now,
      served_at: isServed ? now : row.served_at,
      gone_since: goneSince,
      bad_since: next.isBad ? (row.bad_since ?? (wasGood ? now : null)) : null,
      attempts: 0,
      check_due_at: nextCheck(last, now, this.intervals, Math.random()),
    };
    const { outcome } = check;
    return { row, outcome, next, after: isQuiet(row) ? { ...after, findings: next.findings } : after };
  }
}

/** Its problems are shown and not reported, and end without a report. */
const isQuiet = ({ muted, is_disabled }: StoredEndpoint): boolean => muted || is_disabled;

function wantedReports({ row, next }: Change): readonly Omit<EndpointReport, 'endpoint'>[] {
  if (next === null || isQuiet(row)) return [];
  const { account } = row;
  const { toReport, toWithdraw } = next;
  return [
    ...(toReport.length > 0 ? [{ account, kind: 'problem', findings: toReport } as const] : []),
    ...(toWithdraw.length > 0 ? [{ account, kind: 'recovered', findings: toWithdraw } as const] : []),
  ];
}

const heldBack = ({ after }: Change, now: Date): StoredEndpoint => ({
  ...after,
  held_since: after.held_since ?? now,
});

function reported({ after, next }: Change, now: Date): StoredEndpoint {
  const findings: readonly TrackedFinding[] = next?.findings ?? after.findings;
  return { ...after, held_since: null, findings: markReported(findings, next?.toReport ?? [], now) };
}

async function update(tx: Tx, rows: readonly StoredEndpoint[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(updateStatement, [
    JSON.stringify(rows.map(({ account, ...row }) => ({ ...row, account_id: account }))),
  ]);
}

const updateStatement = `
  UPDATE monitored_endpoint AS endpoint SET findings = given.findings, served = given.served, state = given.state,
    state_since = given.state_since, looked_at = given.looked_at, served_at = given.served_at,
    gone_since = given.gone_since, bad_since = given.bad_since, held_since = given.held_since,
    attempts = given.attempts, check_due_at = given.check_due_at
  FROM jsonb_to_recordset($1::jsonb) AS given (account_id bigint, dns_name text, findings jsonb, served jsonb, state text,
    state_since timestamptz, looked_at timestamptz, served_at timestamptz, gone_since timestamptz, bad_since timestamptz,
    held_since timestamptz, attempts integer, check_due_at timestamptz)
  WHERE endpoint.account_id = given.account_id AND endpoint.dns_name = given.dns_name`;
