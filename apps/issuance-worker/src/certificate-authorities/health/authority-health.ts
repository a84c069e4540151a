import type { CaOutage, CertificateAuthorityEntity } from '@certwright/core-schema';
import { type Outcome, outcomeTime } from '@certwright/issuance';
import { storedOutcome } from '@certwright/outcome-messages';
import type { CertificateAuthorities } from '../certificate-authorities';
import type { AcmeExchange } from '../../acme';
import type { Refusal } from '../certificate-authority';
import { healthPace, type HealthPace } from './pace';
import { Trial } from './trial';

/** Operations that an order requires; others, such as renewal information, are no evidence about orders. */
const operations: ReadonlySet<string> = new Set([
  'directory',
  'newNonce',
  'newAccount',
  'newOrder',
  'readOrder',
  'readAuthorization',
  'respond',
  'finalize',
  'certificate',
]);

/** Attempts at orders: responses may be in time but unusable. */
const attempt = 'attempt';

/** Older errors are ignored, ms. */
const staleAfterMs = 60_000;

/** Max Retry-After of a CA that creates no account; limits on new accounts last for hours. */
const maxAccountRetryMs = 24 * 3_600_000;

interface Streak {
  faults: number;
  readonly sinceMs: number;
  lastMs: number;
}

export type DownAuthority = CertificateAuthorityEntity & {
  readonly downSince: Date;
  readonly downUntil: Date;
};

/** Whether requests to the CA are suspended. A release without `downSince` may leave `downUntil` behind. */
export function isDown(authority: CertificateAuthorityEntity): authority is DownAuthority {
  return authority.downSince !== null && authority.downUntil !== null;
}

/** Requests to the CA are suspended; callers retry later. */
export class AuthorityDown extends Error {
  constructor(readonly authority: string) {
    super(`the CA ${authority} is down`);
    this.name = 'AuthorityDown';
  }
}

/** A transient CA error. */
export interface PassingFault {
  readonly problem: Outcome;
  readonly retryAt: Date | null;
}

export interface HealthEvents {
  down(authority: string, outage: Pick<CaOutage, 'problem'>): void;
  up(authority: string): void;
}

/**
 * Tracks the health of CAs, independent of order failures: from exchanges in this process, and the CA's row shared by
 * all. One error, or several of one order, do not mark a CA as down.
 */
export class AuthorityHealth {
  private readonly streaks = new Map<string, Map<string, Streak>>();

  constructor(
    private readonly stored: Pick<CertificateAuthorities, 'byName' | 'markDown' | 'markUp' | 'claimProbe'>,
    private readonly events: HealthEvents,
    readonly pace: HealthPace = healthPace,
  ) {}

  /** Called for every exchange. */
  readonly observe = (
    authority: string,
    { operation, status, fault }: Pick<AcmeExchange, 'operation' | 'status' | 'fault'>,
  ): void => {
    if (operations.has(operation)) this.count(authority, operation, fault === null && (status ?? 0) < 500);
  };

  /** An attempt at an order ended without transient errors. */
  served(authority: string): void {
    this.count(authority, attempt, true);
  }

  /**
   * An attempt at an order ended with transient errors.
   *
   * @param fault the last one; `retryAt`: time to retry, if the CA sent one
   * @param isTrial the CA is already down
   * @returns the CA's row when it is down, newly or already; null: it is up
   */
  async stalled(
    authority: string,
    fault: PassingFault,
    now: Date,
    isTrial = false,
  ): Promise<DownAuthority | null> {
    this.count(authority, attempt, false);
    const scope = this.scopeOfFailure(authority);
    if (scope !== null || isTrial) await this.down(authority, scope, fault, now);
    return await this.downNow(authority);
  }

  /** A probe failed. */
  async stillDown(authority: string, fault: PassingFault, now: Date): Promise<void> {
    await this.down(authority, null, fault, now);
  }

  private async down(
    authority: string,
    scope: CaOutage['scope'] | null,
    { problem, retryAt }: PassingFault,
    now: Date,
  ): Promise<void> {
    const { firstProbeMs: probeInMs } = this.pace;
    const notBeforeMs = (this.notBefore(retryAt, now) ?? now).getTime() - now.getTime();
    if (await this.stored.markDown(authority, { scope, problem }, { probeInMs, notBeforeMs }))
      this.events.down(authority, { problem });
  }

  /** The CA refuses to create our account, maybe because of a limit, whose Retry-After it is. */
  async withoutAccount(
    authority: string,
    { problem, retryAt }: PassingFault,
    now: Date,
  ): Promise<DownAuthority | null> {
    const outage: CaOutage = { scope: 'new_orders', problem };
    const { withoutAccountMs, firstProbeMs: probeInMs } = this.pace;
    const notBeforeMs =
      retryAt === null ? withoutAccountMs : Math.min(retryAt.getTime() - now.getTime(), maxAccountRetryMs);
    if (await this.stored.markDown(authority, outage, { probeInMs, notBeforeMs }))
      this.events.down(authority, outage);
    return await this.downNow(authority);
  }

  /** A trial for one attempt; getting it claims a probe. */
  trialOf(authority: string): Trial {
    return new Trial(authority, async () => {
      this.streaks.delete(authority);
      if (await this.stored.markUp(authority)) this.events.up(authority);
    });
  }

  /** @returns whether this process may send one request to a CA that is down */
  async claim({ name, downUntil }: DownAuthority, now: Date): Promise<boolean> {
    return downUntil <= now && (await this.stored.claimProbe(name, this.pace.probeMs));
  }

  async downNow(name: string): Promise<DownAuthority | null> {
    const authority = (await this.stored.byName([name])).get(name);
    return authority !== undefined && isDown(authority) ? authority : null;
  }

  /** The CA's Retry-After, limited to the max honored; null: none. */
  notBefore(retryAt: Date | null, now: Date): Date | null {
    const max = now.getTime() + this.pace.maxRetryAfterMs;
    return retryAt === null ? null : new Date(Math.min(retryAt.getTime(), max));
  }

  /** Orders that wait for the CA are not due until the next probe is over. */
  refusal(authority: DownAuthority, now: Date): Refusal & { readonly until: Date } {
    const { name, downSince, downUntil, problem, outcome: stored } = authority;
    const probeAt = downUntil > now ? downUntil : now;
    const until = new Date(probeAt.getTime() + this.pace.graceMs);
    const outcome = {
      ...({ code: 'ca_down', authority: name, since: outcomeTime(downSince) } as const),
      ...{ nextProbeAt: outcomeTime(probeAt), problem: storedOutcome(problem, stored) },
    };
    const error = { code: 'ca_unavailable', outcome } as const;
    return { authority: name, error, until, final: false, unavailable: 'down' };
  }

  /** @returns null: no operation has failed often enough, for long enough */
  private scopeOfFailure(authority: string): CaOutage['scope'] | null {
    const nowMs = performance.now();
    const failing = [...(this.streaks.get(authority) ?? [])]
      .filter(([, streak]) => nowMs - streak.lastMs <= staleAfterMs && this.isFailing(streak, nowMs))
      .map(([operation]) => operation);
    if (failing.length === 0) return null;
    const known = failing.filter((operation) => operation !== attempt);
    const isAboutNewOrders = (operation: string) => operation === 'newOrder' || operation === 'newAccount';
    return known.length > 0 && known.every(isAboutNewOrders) ? 'new_orders' : 'everything';
  }

  private count(authority: string, operation: string, isSuccess: boolean): void {
    const ofAuthority = this.streaks.get(authority) ?? new Map<string, Streak>();
    this.streaks.set(authority, ofAuthority);
    const nowMs = performance.now();
    const streak = ofAuthority.get(operation);
    if (isSuccess) ofAuthority.delete(operation);
    else if (streak === undefined || nowMs - streak.lastMs > staleAfterMs)
      ofAuthority.set(operation, { faults: 1, sinceMs: nowMs, lastMs: nowMs });
    else {
      streak.faults += 1;
      streak.lastMs = nowMs;
    }
  }

  /** Many consecutive errors, not yet for long enough: attempts run one at a time. */
  isSuspect(authority: string): boolean {
    const [{ faults: max } = { faults: Infinity }] = this.pace.failing;
    const nowMs = performance.now();
    return [...(this.streaks.get(authority)?.values() ?? [])].some(({ faults, lastMs }) => {
      return faults >= max && nowMs - lastMs <= staleAfterMs;
    });
  }

  private isFailing({ faults, sinceMs }: Streak, nowMs: number): boolean {
    return this.pace.failing.some((bound) => {
      return faults >= bound.faults && nowMs - sinceMs >= bound.lastingMs;
    });
  }
}
