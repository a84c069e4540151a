import { Problem } from '@certwright/errors';
import { isAllowed, type KeyAuthentication, type TokenBuckets } from '@certwright/service';
import type { AnonymousLimits, AnonymousQuery } from './anonymous-limits';

/** The limits of a search subscription. */
export interface SearchPlan {
  readonly name: string;
  readonly queriesPerS: number;
  /** Burst of queries after a pause. */
  readonly burst: number;
  /** Time limit of one query. */
  readonly timeLimitMs: number;
  /** Whether the stream of all issuances may be read. */
  readonly firehose: boolean;
}

/** An API key, and the subscription of its account. */
export interface SearchKey {
  readonly keyId: string;
  readonly accountId: string;
  /** As stored; unknown names grant nothing. */
  readonly permissions: readonly string[];
  /** The key itself, or its account. */
  readonly disabled: boolean;
  /** The default plan when the account has no subscription. */
  readonly plan: SearchPlan;
  /** The subscription has not been paid. */
  readonly suspended: boolean;
}

interface KeyAccess
  extends Pick<SearchKey, 'keyId' | 'accountId'>, Pick<SearchPlan, 'timeLimitMs' | 'firehose'> {
  readonly kind: 'key';
}

/** The sender of a request, and the time limit of its query. */
export type Access = KeyAccess | { readonly kind: 'anonymous'; readonly timeLimitMs: number };

export interface AccessRequest {
  /** The header as sent; absent: anonymous. */
  readonly authorization?: string | undefined;
  /** The client's address for rate limits; see `addressKey`. */
  readonly addressKey: string;
}

/**
 * Decides access, rate and time limits of searches. A key is looked up before the query is parsed; its rate is that of the
 * subscription, which all keys of an account share.
 */
export class SearchAccess {
  constructor(
    private readonly keys: KeyAuthentication<SearchKey>,
    private readonly buckets: TokenBuckets,
    private readonly anonymous: AnonymousLimits,
    /** Time limit of a query without a key. */
    private readonly anonymousTimeLimitMs: number,
  ) {}

  /**
   * Admits a request and counts it.
   *
   * @throws Problem `bad_credentials` when `Authorization` contains no API key, `disabled_credentials`,
   *   `payment_required`, `unauthorized`, `rate_limited`, or `service_outage` while keys cannot be looked up
   */
  async admit({ authorization, addressKey }: AccessRequest): Promise<Access> {
    const key = await this.keys.presented(authorization, addressKey);
    if (key === null) {
      await this.anonymous.countRequest(addressKey);
      return { kind: 'anonymous', timeLimitMs: this.anonymousTimeLimitMs };
    }
    refuseUnable(key);
    await this.#count(key);
    const { keyId, accountId, plan } = key;
    return { kind: 'key', keyId, accountId, timeLimitMs: plan.timeLimitMs, firehose: plan.firehose };
  }

  /**
   * Counts a valid query in the hourly limit: invalid ones are free. Does nothing for a key, whose
   * rate is counted by `admit`.
   *
   * @throws Problem `rate_limited`
   */
  async countAnonymous(access: Access, addressKey: string, query: AnonymousQuery): Promise<void> {
    if (access.kind === 'anonymous') await this.anonymous.countQuery(addressKey, query);
  }

  /** @throws Problem `bad_credentials` without a key, `not_allowed_by_plan` when the plan does not include the firehose */
  requireFirehose(access: Access): void {
    if (access.kind === 'anonymous') {
      const needed = 'an API key: as a Bearer token, or as the user name of Basic authentication';
      throw new Problem('bad_credentials', `The firehose needs ${needed}.`);
    }
    if (!access.firehose)
      throw new Problem('not_allowed_by_plan', 'The subscription does not include the firehose.');
  }

  async #count({ accountId, plan }: SearchKey): Promise<void> {
    const rate = { ratePerS: plan.queriesPerS, burst: plan.burst };
    const taken = await this.buckets.take(`search:${accountId}`, { ...rate, cost: 1 });
    if (taken.ok) return;
    const { retryAfterS } = taken;
    const message = `The subscription allows ${rate.ratePerS} queries a second; the next one is due in ${retryAfterS} s.`;
    throw new Problem('rate_limited', message, { retryAfterS });
  }
}

/** @throws Problem with the reason why this key may not search now */
function refuseUnable({ disabled, suspended, permissions }: SearchKey): void {
  if (disabled) throw new Problem('disabled_credentials', 'This API key is disabled.');
  if (suspended)
    throw new Problem('payment_required', 'The subscription is suspended: it has not been paid.');
  if (!isAllowed(permissions, ['Search Certificates']))
    throw new Problem('unauthorized', 'This API key lacks the permission "Search Certificates".');
}
