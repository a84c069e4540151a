import type { Tx } from '@certwright/core-schema';
import type { Outcome } from '@certwright/issuance';
import type { Challenges } from '@certwright/approvals';
import type { HostedChallengeRecords } from '../integrations/hosted-challenge-records';
import type { ChallengePublisher, NotYet, PublishedChallenge } from './challenge-publisher';
import { ofType } from './challenge-publisher';
import type { HostedRecords, HostingEvents } from './hosted-records';
import type { HostedValuesSeen } from './hosted-values-seen';

export interface HostedPorts {
  /** Hosts the approval zone. */
  readonly integrationId: string;
  readonly stored: Pick<Challenges, 'publishRecords' | 'withdrawRecords'>;
  readonly rows: Pick<HostedChallengeRecords, 'mayAdd' | 'countMissing'>;
  readonly records: Pick<HostedRecords, 'add'>;
  readonly seen: Pick<HostedValuesSeen, 'unseen'>;
  readonly events: Pick<HostingEvents, 'gone'>;
}

/** Pause while another worker has the integration, ms. */
const busyMs = 2_000;

const problem: Outcome = { code: 'challenge_not_published' };

/**
 * TXT values in the operator's own DNS zone. `withdraw` only marks them; a periodic round removes them from the zone.
 */
export class HostedChallenges implements ChallengePublisher {
  constructor(private readonly ports: HostedPorts) {}

  async publish(challenges: readonly PublishedChallenge[]): Promise<NotYet | null> {
    const { integrationId, stored, rows, records, events } = this.ports;
    const wanted = ofType(challenges, 'dns-01');
    if (wanted.length === 0) return null;
    await stored.publishRecords(wanted, integrationId);
    if ((await rows.countMissing(integrationId, wanted)) === 0) return null;
    if (!(await rows.mayAdd(integrationId))) {
      events.gone(integrationId);
      return { problem, pauseMs: null };
    }
    const added = await records.add(integrationId, wanted);
    if (added === 'busy') return { problem: null, pauseMs: busyMs };
    if (added === 'more') return { problem: null, pauseMs: 0 };
    if (added !== 'done')
      return { problem, pauseMs: added.retryAfterS === undefined ? null : added.retryAfterS * 1_000 };
    // Values in another integration must be removed there first.
    const missing = await rows.countMissing(integrationId, wanted);
    return missing === 0 ? null : { problem: null, pauseMs: busyMs };
  }

  async unseen(challenges: readonly PublishedChallenge[], signal?: AbortSignal): Promise<Outcome | null> {
    return await this.ports.seen.unseen(ofType(challenges, 'dns-01'), signal);
  }

  async withdraw(challenges: readonly PublishedChallenge[], tx: Tx | null = null): Promise<void> {
    await this.ports.stored.withdrawRecords(ofType(challenges, 'dns-01'), tx);
  }
}
