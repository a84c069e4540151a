import type { Job, JobName } from '@certwright/jobs';
import { isTracing, type OpenSpan, openSpan } from '@certwright/tracing';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '../transactions/transactions';
import { writesToOutbox } from './outbox-writes';

interface OutboxRow {
  readonly job: JobName;
  readonly job_id: string;
  readonly payload: Job['payload'];
  /** Absent while this process records no spans. */
  readonly traceparent?: string | null;
  readonly created_at?: Date;
}

@Injectable()
export class Outbox {
  constructor(private readonly database: DataSource) {}

  async add(tx: Tx, job: Job): Promise<void> {
    await addToOutbox(tx, job);
  }

  /**
   * Hands the oldest rows to `send` and removes them once it has returned; a crash in between sends them twice.
   * Any number of relays may run: each takes rows that no other holds.
   *
   * @returns how many were sent
   */
  async relay(limit: number, send: (jobs: readonly Job[]) => Promise<void>): Promise<number> {
    // A relay finds nothing most of the time: one statement instead of a transaction.
    const waiting: unknown[] = await this.database.query(`SELECT FROM outbox LIMIT 1`);
    if (waiting.length === 0) return 0;
    return await this.database.transaction(async (tx) => {
      const taken: readonly [OutboxRow[], number] = await tx.query(
        `DELETE FROM outbox WHERE id IN (SELECT id FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
         RETURNING job, job_id, payload ${isTracing() ? ', traceparent, created_at' : ''}`,
        [limit],
      );
      const relayed = taken[0].map(relayedJob);
      if (relayed.length > 0) await sendInSpans(relayed, send);
      return relayed.length;
    });
  }

  /** Rows that wait, and the age of the oldest in seconds. */
  async backlog(): Promise<{ rows: number; oldestS: number }> {
    const [row] = await this.database.query<[{ rows: number; oldest: number }]>(
      `SELECT count(*)::int AS rows, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float AS oldest FROM outbox`,
    );
    return { rows: row.rows, oldestS: row.oldest };
  }
}

interface RelayedJob {
  readonly job: Job;
  /** From the insertion of the row until its job is in Redis; the parent of what the job does. */
  readonly span: OpenSpan | null;
}

function relayedJob({
  job: name,
  job_id: id,
  payload,
  traceparent,
  created_at: startedAt,
}: OutboxRow): RelayedJob {
  const job: Job = { name, id, payload };
  if (!traceparent) return { job, span: null };
  const cause = { traceparent, as: 'parent' } as const;
  const span = openSpan(`outbox ${name}`, { kind: 'producer', cause, ...(startedAt && { startedAt }) });
  return { job: span === null ? job : { ...job, cause: { ...cause, traceparent: span.traceparent } }, span };
}

async function sendInSpans(
  relayed: readonly RelayedJob[],
  send: (jobs: readonly Job[]) => Promise<void>,
): Promise<void> {
  const end = (outcome: 'ok' | 'failed') => relayed.forEach(({ span }) => span?.end(outcome));
  try {
    await send(relayed.map(({ job }) => job));
  } catch (error) {
    end('failed');
    throw error;
  }
  end('ok');
}

/** Part of the transaction that causes the wake-up. A job whose cause is no parent belongs to the current span. */
export async function addToOutbox(tx: Tx, { name, id, payload, cause }: Job): Promise<void> {
  writesToOutbox(tx);
  const values = [name, id, JSON.stringify(payload)];
  await (cause?.as === 'parent'
    ? tx.query(`INSERT INTO outbox (job, job_id, payload, traceparent) VALUES ($1, $2, $3, $4)`, [
        ...values,
        cause.traceparent,
      ])
    : tx.query(`INSERT INTO outbox (job, job_id, payload) VALUES ($1, $2, $3)`, values));
}

/** The same for many, in one statement. */
export async function addJobsToOutbox(tx: Tx, jobs: readonly Job[]): Promise<void> {
  if (jobs.length === 0) return;
  writesToOutbox(tx);
  await tx.query(
    `INSERT INTO outbox (job, job_id, payload)
     SELECT job, id, payload::jsonb FROM unnest($1::text[], $2::text[], $3::text[]) AS job (job, id, payload)`,
    [
      jobs.map(({ name }) => name),
      jobs.map(({ id }) => id),
      jobs.map(({ payload }) => JSON.stringify(payload)),
    ],
  );
}
