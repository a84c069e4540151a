import type { Tx } from '@certwright/core-schema';
import type { Outcome } from '@certwright/issuance';

/** What a CA looks up: a TXT value at a standing record's target, or an HTTP response through a web server rule. */
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

/** The values are not published yet. */
export interface NotYet {
  /** Null: no error; other issuances are using the integration. */
  readonly problem: Outcome | null;
  /** Time until the next attempt, ms; null: the usual growing interval. */
  readonly pauseMs: number | null;
}

/**
 * Publishes challenge values. Contract: `publish` is durable and idempotent, and extends the lifetime of existing
 * values, which expire after a day at most. It ends within 30 s and is repeated until it returns `null`: everything
 * is published. `unseen` queries like a CA, bounded in time, and never rejects because of network errors. `withdraw`
 * is idempotent and ignores values that were never published; a CA may see a value a little longer.
 */
export interface ChallengePublisher {
  publish(challenges: readonly PublishedChallenge[]): Promise<NotYet | null>;
  /** Why a CA would not find all values yet; null: it would. */
  unseen(challenges: readonly PublishedChallenge[], signal?: AbortSignal): Promise<Outcome | null>;
  /** @param tx in which they are withdrawn; null: on its own */
  withdraw(challenges: readonly PublishedChallenge[], tx?: Tx | null): Promise<void>;
}

type OfType<T extends PublishedChallenge['type']> = Extract<PublishedChallenge, { readonly type: T }>;

export type DnsChallenge = OfType<'dns-01'>;

export function ofType<T extends PublishedChallenge['type']>(
  challenges: readonly PublishedChallenge[],
  type: T,
): readonly OfType<T>[] {
  return challenges.filter((challenge): challenge is OfType<T> => challenge.type === type);
}
