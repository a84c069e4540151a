import type { Job, JobName } from '@certwright/jobs';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '../transactions/transactions';

interface OutboxRow {
  readonly job: JobName;
  readonly job_id: string;
  readonly payload: Job['payload'];
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
    return await this.database.transaction(async (tx) => {
      const taken: readonly [OutboxRow[], number] = await tx.query(
        `DELETE FROM outbox WHERE id IN (SELECT id FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
         RETURNING job, job_id, payload`,
        [limit],
      );
      const jobs = taken[0].map(({ job, job_id, payload }): Job => ({ name: job, id: job_id, payload }));
      if (jobs.length > 0) await send(jobs);
      return jobs.length;
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

/** Part of the transaction that causes the wake-up. */
export async function addToOutbox(tx: Tx, { name, id, payload }: Job): Promise<void> {
  await tx.query(`INSERT INTO outbox (job, job_id, payload) VALUES ($1, $2, $3)`, [
    name,
    id,
    JSON.stringify(payload),
  ]);
}

/** The same for many, in one statement. */
export async function addJobsToOutbox(tx: Tx, jobs: readonly Job[]): Promise<void> {
  if (jobs.length === 0) return;
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
