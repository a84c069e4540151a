import type { Outcome } from '@certwright/issuance';

/** What a CA will look for: a TXT value at the target of a standing record, or an answer through a web server rule. */
export type PublishedChallenge =
  | {
      readonly type: 'dns-01';
      readonly accountId: string;
      /** Without `*.`. */
      readonly dnsName: string;
      /** Below the approval zone. */
      readonly label: string;
      /** RFC 8555, section 8.4. */
      readonly value: string;
    }
  | {
      readonly type: 'http-01';
      readonly accountId: string;
      readonly dnsName: string;
      readonly token: string;
      /** RFC 8555, section 8.3. */
      readonly content: string;
    };

/** Nothing that a CA could look at yet. */
export interface NotYet {
  /** Null: nothing is wrong, others have their turn. */
  readonly problem: Outcome | null;
  /** When to go on, ms from now; null: as with every wait, ever more rarely. */
  readonly pauseMs: number | null;
}

/**
 * Puts in place what a CA looks for. Contract: `publish` is durable and repeatable, and lengthens the life of what stands;
 * what is published goes by itself after a day at most. It ends within half a minute, and where that does not do it is
 * repeated: `null` once everything is in place. `unseen` asks as a CA would, bounded in time, and never rejects for what
 * the network does. `withdraw` is repeatable, and of what was never published says nothing; what a CA sees may last a
 * little longer.
 */
export interface ChallengePublisher {
  publish(challenges: readonly PublishedChallenge[]): Promise<NotYet | null>;
  /** Why a CA would not find them all yet; null: it would. */
  unseen(challenges: readonly PublishedChallenge[], signal?: AbortSignal): Promise<Outcome | null>;
  withdraw(challenges: readonly PublishedChallenge[]): Promise<void>;
}

type OfType<T extends PublishedChallenge['type']> = Extract<PublishedChallenge, { readonly type: T }>;

export type DnsChallenge = OfType<'dns-01'>;

export function ofType<T extends PublishedChallenge['type']>(
  challenges: readonly PublishedChallenge[],
  type: T,
): readonly OfType<T>[] {
  return challenges.filter((challenge): challenge is OfType<T> => challenge.type === type);
}
