import { ProbeQuestions } from '@certwright/redis';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import type { TaskLease } from '../tasks/task-leases';
import { CheckLooks } from './check-looks';
import { DueEndpoints } from './due-endpoints.repository';
import { groupsOf, Looks, Pace } from './looks';
import { StoreChecks } from './store-checks';

/** Results that are stored in one transaction. */
const maxStored = 50;

/** Names that are claimed in one transaction. */
const maxClaimed = 50;

type Limits = Pick<Config, 'ENDPOINT_CHECKS_AT_ONCE' | 'ENDPOINT_CHECKS_PER_SECOND'>;

/** Checks what the servers of endpoints present: many at the same time, at an even rate. */
@Injectable()
export class CheckEndpoints {
  private looks: Looks;
  private readonly pace: Pace;

  constructor(
    private readonly due: DueEndpoints,
    private readonly checking: CheckLooks,
    private readonly storing: StoreChecks,
    @Inject(ProbeQuestions) private readonly prober: Pick<ProbeQuestions, 'askLook'>,
    @Inject(Config) private readonly limits: Limits,
  ) {
    this.looks = new Looks(prober);
    this.pace = new Pace(limits.ENDPOINT_CHECKS_PER_SECOND);
  }

  /**
   * Stores the results of looks, and begins others in their place. Does not wait for looks, so that slow ones do not delay
   * the others.
   *
   * @param at default: the database's clock
   * @returns whether there may be more to do now
   */
  async step(lease: TaskLease, at: Date | null = null): Promise<boolean> {
    if (!(await this.checking.canDecide())) return false;
    const now = at ?? (await this.due.now());
    const looked = this.looks.take(maxStored);
    if (looked.length > 0) await this.storing.store(lease, await this.checking.check(looked, now), now);
    const free = Math.min(
      this.pace.free(now),
      this.limits.ENDPOINT_CHECKS_AT_ONCE - this.looks.underWay,
      maxClaimed,
    );
    if (free <= 0) return looked.length === maxStored;
    const groups = groupsOf(await this.due.claim(lease, free, now));
    for (const group of groups) this.looks.begin(group);
    this.pace.take(groups.length);
    return looked.length === maxStored || groups.length > 0;
  }

  /** Resolves when no look is under way. */
  async settled(): Promise<void> {
    await this.looks.settled();
  }

  /** Another process checks the endpoints: results of looks under way are dropped. */
  forget(): void {
    this.looks.end();
    this.looks = new Looks(this.prober);
  }
}
