import type { PlanOwner } from '@certwright/core-schema';
import type { Announcements } from './announcements';

/** One round: so many accounts, and so many plans of each. */
const round = { accounts: 50, plansEach: 10 };

/** Announcements side by side: each uses one connection, and requests need the others. */
const sideBySide = 3;

/** Recovers lost wake-ups after a second. */
const restMs = 1_000;

/** Before the first account: ids are positive. */
const beforeAll = '0';

/** Tells of one plan. @returns false when there was nothing to tell, or another copy is telling it */
export type Announce = (planId: string) => Promise<boolean>;

/** The sweep over the plans of an owner: announces changes whose wake-up was lost. Redis has no part in it. */
export class AnnouncementRound {
  private afterAccount = beforeAll;

  constructor(
    private readonly announcements: Announcements,
    private readonly owner: PlanOwner,
    private readonly announce: Announce,
  ) {}

  /**
   * @param onError called for each plan that could not be announced; it does not delay others, and its turn comes
   * again
   * @returns how long to wait before the next round, ms
   */
  async run(onError: (planId: string, error: unknown) => void): Promise<number> {
    const wasFirst = this.afterAccount === beforeAll;
    const { planIds, lastAccount } = await this.announcements.unannounced(
      this.owner,
      this.afterAccount,
      round,
    );
    this.afterAccount = lastAccount ?? beforeAll;
    if (lastAccount === null) return wasFirst ? restMs : 0;
    const announced = await this.announceAll([...planIds], onError);
    // Without progress, at once again would be a race against whatever keeps it.
    return announced > 0 ? 0 : restMs;
  }

  private async announceAll(
    planIds: string[],
    onError: (planId: string, error: unknown) => void,
  ): Promise<number> {
    let announced = 0;
    const work = async () => {
      for (let planId = planIds.shift(); planId !== undefined; planId = planIds.shift()) {
        try {
          if (await this.announce(planId)) announced += 1;
        } catch (error) {
          onError(planId, error);
        }
      }
    };
    await Promise.all(Array.from({ length: sideBySide }, work));
    return announced;
  }
}
