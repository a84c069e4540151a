import type { MonitoringTaskName } from '@certwright/core-schema';
import { LeaseLost } from '@certwright/postgres';
import { type RoundOfWork, Rounds } from '@certwright/service';
import { inSpan } from '@certwright/tracing';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config';
import { type TaskLease, TaskLeases } from './task-leases';

/** Does what is due. @returns how long to wait before the next round, ms; 0: there is more to do */
export type LeasedWork = (lease: TaskLease) => Promise<number>;

/** Wait of a copy before it tries to take the task from another one, relative to the lease time. */
const retriesPerLease = 3;

/** A lease is extended when a tenth of its time is over, and not in each round: an extension is a write. */
const extensionsPerLease = 10;

interface Held {
  readonly lease: TaskLease;
  readonly extendedAtMs: number;
}

/** Repeats the rounds of a task while this process holds its lease. */
@Injectable()
export class LeasedRounds implements OnApplicationShutdown {
  private readonly held = new Map<MonitoringTaskName, Held>();

  constructor(
    private readonly rounds: Rounds,
    private readonly leases: TaskLeases,
    @Inject(Config) private readonly config: Pick<Config, 'LEASE_TIME'>,
  ) {}

  /**
   * Called by `onModuleInit` of a provider.
   *
   * @param work one round; must take less than nine tenths of the lease time, as each of its transactions checks the lease
   * @param lost called when another process took the task over: what the process knows of it may be outdated
   */
  add(task: MonitoringTaskName, work: LeasedWork, lost: () => void = () => undefined): void {
    this.rounds.add(task, this.roundOf(task, work, lost));
  }

  private roundOf(task: MonitoringTaskName, work: LeasedWork, lost: () => void): RoundOfWork {
    const forMs = this.config.LEASE_TIME;
    return async () => {
      try {
        const lease = await this.lease(task, forMs);
        if (lease === null) return Math.ceil(forMs / retriesPerLease);
        return await inSpan(`round ${task}`, { cause: null }, async () => await work(lease));
      } catch (error) {
        if (!(error instanceof LeaseLost)) throw error;
        this.held.delete(task);
        lost();
        return 0;
      }
    };
  }

  private async lease(task: MonitoringTaskName, forMs: number): Promise<TaskLease | null> {
    const [held, extendedAtMs] = [this.held.get(task), performance.now()];
    if (held !== undefined && extendedAtMs - held.extendedAtMs < forMs / extensionsPerLease)
      return held.lease;
    if (held !== undefined) await this.leases.extend(held.lease, forMs);
    const lease = held?.lease ?? (await this.leases.take(task, forMs));
    if (lease !== null) this.held.set(task, { lease, extendedAtMs });
    return lease;
  }

  /** So that another copy continues at once. */
  async onApplicationShutdown(): Promise<void> {
    const held = [...this.held.values()];
    this.held.clear();
    await Promise.allSettled(held.map(async ({ lease }) => await this.leases.release(lease)));
  }
}
