import type { MonitoringTaskName, Tx } from '@certwright/core-schema';
import { LeaseLost, leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** The right to run a loop. */
export interface TaskLease {
  readonly task: MonitoringTaskName;
  /** The fencing token. */
  readonly token: string;
}

/** Each loop runs in one process at a time, however many copies there are. */
@Injectable()
export class TaskLeases {
  constructor(private readonly database: DataSource) {}

  /** @returns null while another process holds it */
  async take(task: MonitoringTaskName, forMs: number): Promise<TaskLease | null> {
    const [[taken]] = await this.database.query<[{ token: string }[], number]>(
      `UPDATE monitoring_task SET ${leases.take('$2')} WHERE task = $1 AND ${leases.isFree()}
       RETURNING lease_token AS token`,
      [task, forMs],
    );
    return taken === undefined ? null : { task, token: taken.token };
  }

  /** @throws LeaseLost */
  async extend({ task, token }: TaskLease, forMs: number): Promise<void> {
    const [, extended] = await this.database.query<[unknown, number]>(
      `UPDATE monitoring_task SET ${leases.extend('$3')} WHERE task = $1 AND ${leases.isHeld('$2')}`,
      [task, token, forMs],
    );
    if (extended === 0) throw new LeaseLost('monitoring_task', task, token);
  }

  /** Another process can take over at once. */
  async release({ task, token }: TaskLease): Promise<void> {
    await this.database.query(
      `UPDATE monitoring_task SET ${leases.release} WHERE task = $1 AND lease_token = $2`,
      [task, token],
    );
  }
}

/**
 * The first statement of a transaction that writes for a task: a process that was frozen and continues after its lease ended
 * writes nothing.
 *
 * @throws LeaseLost
 */
export async function lockTask(tx: Tx, { task, token }: TaskLease): Promise<void> {
  const held: unknown[] = await tx.query(
    `SELECT 1 FROM monitoring_task WHERE task = $1 AND ${leases.isHeld('$2')} FOR UPDATE`,
    [task, token],
  );
  if (held.length === 0) throw new LeaseLost('monitoring_task', task, token);
}
