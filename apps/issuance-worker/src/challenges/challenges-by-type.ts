import type { Tx } from '@certwright/core-schema';
import type { Outcome } from '@certwright/issuance';
import type { ChallengePublisher, NotYet, PublishedChallenge } from './challenge-publisher';
import { ofType } from './challenge-publisher';

/** Delegates to the publisher of each challenge type. */
export class ChallengesByType implements ChallengePublisher {
  constructor(private readonly places: Readonly<Record<PublishedChallenge['type'], ChallengePublisher>>) {}

  async publish(challenges: readonly PublishedChallenge[]): Promise<NotYet | null> {
    const files = await this.places['http-01'].publish(ofType(challenges, 'http-01'));
    const records = await this.places['dns-01'].publish(ofType(challenges, 'dns-01'));
    return records ?? files;
  }

  async unseen(challenges: readonly PublishedChallenge[], signal?: AbortSignal): Promise<Outcome | null> {
    const records = await this.places['dns-01'].unseen(ofType(challenges, 'dns-01'), signal);
    return records ?? (await this.places['http-01'].unseen(ofType(challenges, 'http-01'), signal));
  }

  async withdraw(challenges: readonly PublishedChallenge[], tx: Tx | null = null): Promise<void> {
    await this.places['dns-01'].withdraw(ofType(challenges, 'dns-01'), tx);
    await this.places['http-01'].withdraw(ofType(challenges, 'http-01'), tx);
  }
}
