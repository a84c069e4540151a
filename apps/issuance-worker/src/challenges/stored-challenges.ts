import type { Tx } from '@certwright/core-schema';
import type { Outcome } from '@certwright/issuance';
import type { Challenges } from '@certwright/approvals';
import type { ChallengePlace, ChallengeValues } from '@certwright/redis';
import {
  type ChallengePublisher,
  type DnsChallenge,
  ofType,
  type PublishedChallenge,
} from './challenge-publisher';
import type { ValuesSeen } from './values-seen';

/** Challenges that approval-responder serves: rows whose changes are published through Redis. */
export class StoredChallenges implements ChallengePublisher {
  constructor(
    private readonly stored: Pick<
      Challenges,
      'publishRecords' | 'publishFiles' | 'withdrawRecords' | 'withdrawFiles'
    >,
    private readonly remembered: Pick<ChallengeValues, 'changed'>,
    private readonly seen: ValuesSeen,
  ) {}

  async publish(challenges: readonly PublishedChallenge[]): Promise<null> {
    const records = ofType(challenges, 'dns-01');
    await this.stored.publishRecords(records);
    await this.stored.publishFiles(ofType(challenges, 'http-01'));
    await this.notify(records);
    return null;
  }

  async unseen(challenges: readonly PublishedChallenge[], signal?: AbortSignal): Promise<Outcome | null> {
    return await this.seen.unseen(ofType(challenges, 'dns-01'), signal);
  }

  /** Copies of approval-responder may return a withdrawn value for 30 s more. */
  async withdraw(challenges: readonly PublishedChallenge[], tx: Tx | null = null): Promise<void> {
    await this.stored.withdrawRecords(ofType(challenges, 'dns-01'), tx);
    await this.stored.withdrawFiles(ofType(challenges, 'http-01'), tx);
  }

  /** A change that is not published because Redis is unavailable is seen after 30 s at most. */
  private async notify(records: readonly DnsChallenge[]): Promise<void> {
    if (records.length === 0) return;
    const places = records.flatMap(({ label, dnsName }): ChallengePlace[] => {
      return [`target:${label}`, `name:${dnsName}`];
    });
    await this.remembered.changed([...new Set(places)]).catch(() => undefined);
  }
}
