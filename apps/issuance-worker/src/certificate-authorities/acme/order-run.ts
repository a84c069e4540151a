import { type AcmeOrderEntity, together, type Tx } from '@certwright/core-schema';
import { inSpan } from '@certwright/tracing';
import { type AcmeOrders, OrderTaken } from './acme-orders';
import {
  type AcmeAuthorization,
  AcmeFault,
  type AcmeOrder,
  assertNames,
  type ChallengeToRespond,
  type ChallengeType,
  type FailedOrder,
  isPassing,
  isProblem,
  type RepeatOptions,
  Repeats,
} from '../../acme';
import type { CaLimitBuckets } from '../../ca-limits/ca-limit-buckets';
import { limitNeeds } from '../../preflight/limit-needs';
import { sideBySide } from '../../approvals/side-by-side';
import type { ChallengePublisher, NotYet } from '../../challenges/challenge-publisher';
import type { CertificateRequest } from '../certificate-authority';
import type { AcmeSession } from './acme-accounts';
import { exchangeMs } from './acme-servers';
import { type DownloadedCertificate, downloadChain } from './download-chain';
import type { FaultContext, OrderStage } from './classify-fault';
import { newOrder } from './new-order';
import { trialAt } from '../health/trial';
import { challengeOf, publishedFor, withResponses } from './order-challenges';
import {
  inTurn,
  nextMove,
  notFinalized,
  type Pending,
  slowness,
  stageOf,
  urlOf,
  waitFor,
  waitForOrder,
  waitForOther,
} from './order-progress';
import type { PersistentRecords } from './persistent-records';

export interface OrderRunPorts {
  readonly buckets: Pick<CaLimitBuckets, 'spend'>;
  readonly orders: AcmeOrders;
  readonly challenges: ChallengePublisher;
  /** Null: dns-persist-01 is not used. */
  readonly persistent: PersistentRecords | null;
  /** Retries of requests that change something at the CA. */
  readonly repeats: RepeatOptions;
}

export type OrderRunEnd =
  DownloadedCertificate | Pending | { readonly kind: 'failed'; readonly failed: FailedOrder };

/** Not idempotent: a retry first reads the order. The client retries all other operations. */
const changing: ReadonlySet<FaultContext['operation']> = new Set(['newOrder', 'respond', 'finalize']);

/** An attempt that reads authorizations or waits after this time yields to other orders, ms. */
export const maxRunMs = 45_000;

/** Max concurrent requests about one order. */
const requestsAtOnce = 8;

/**
 * Advances one order at one CA as far as possible. Each exchange runs under the lease, and its outcome is stored
 * before the next.
 */
export class OrderRun {
  /** The last operation and the order's stage at that time, for error handling. */
  doing: Pick<FaultContext, 'operation' | 'stage'>;
  private hasPassed = false;
  /** Whether the row lacks responses to challenges. The next write stores them; without it the CA gets them again. */
  private hasNewChallenges = false;

  constructor(
    private readonly ports: OrderRunPorts,
    private readonly session: AcmeSession,
    /** The row, with the changes of this run. */
    public stored: AcmeOrderEntity,
    private readonly request: CertificateRequest,
  ) {
    this.doing = { operation: 'order', stage: stageOf(stored) };
  }

  /** Start of the current exchange; null: none. */
  exchangeSinceMs: number | null = null;

  /** After transient errors, reads the order and retries the failed change. @throws AcmeFault, LeaseLost */
  async run(): Promise<OrderRunEnd> {
    const endsMs = performance.now() + maxRunMs;
    const repeats = new Repeats(this.ports.repeats, this.request.clock);
    for (;;) {
      try {
        return await this.toTheEnd(endsMs);
      } catch (error) {
        if (!this.mayRepeat(error) || !(await repeats.next(error))) throw error;
      } finally {
        this.exchangeSinceMs = null;
      }
    }
  }

  /** The first request to a CA that is down is its trial and is not retried. newOrder moves on to another CA. */
  private mayRepeat(error: unknown): boolean {
    // The client has already retried the directory and nonce requests.
    if (error instanceof AcmeFault && error.neverSent) return false;
    const { operation } = this.doing;
    const isTrial = trialAt(this.request.trial, this.session.authority.name) !== null;
    const goesElsewhere = operation === 'newOrder' && this.request.product.authorities.length > 1;
    return changing.has(operation) && !goesElsewhere && (!isTrial || this.hasPassed);
  }

  private async toTheEnd(endsMs: number): Promise<OrderRunEnd> {
    if (this.stored.state === 'issued' && this.stored.certificateUrl !== null)
      return await this.download(this.stored.certificateUrl);
    const found = await this.order();
    if (found === null) return waitForOther(this.stored, this.request.clock());
    await this.passes();
    let order = found;
    let authorizations: readonly AcmeAuthorization[] = [];
    for (;;) {
      const methods = await this.methods(authorizations);
      const move = nextMove(this.stored, order, authorizations, methods, this.request.clock());
      switch (move.kind) {
        case 'read_authorizations':
          // Not after reading: a run that ends then has to read them all again.
          if (performance.now() > endsMs) return inTurn(this.request.clock());
          authorizations = [...authorizations, ...(await this.authorizations(move.urls))];
          break;
        case 'respond': {
          const end = await this.respond(move.challenges, authorizations);
          if (end.kind === 'not_yet') return waitFor(end, this.stored, this.request.clock());
          if (end.kind === 'decided') [order, authorizations] = [await this.read(order.url), []];
          break;
        }
        case 'finalize':
          if (this.request.keyBlocked) return notFinalized(order, this.stored, this.request.clock());
          order = await this.finalize(order);
          // Still ready after finalize: finalize is repeated later, not at once in an endless loop.
          if (order.status === 'ready') return waitForOrder(order, this.stored, this.request.clock());
          break;
        case 'download':
          return await this.download(move.certificateUrl);
        case 'wait':
          return { kind: 'pending', until: move.until, error: slowness(this.stored, this.request.clock()) };
        case 'failed':
          return { kind: 'failed', failed: move };
      }
    }
  }

  /** Stores what a later run needs. @throws LeaseLost */
  async store(): Promise<void> {
    if (!this.hasNewChallenges) return;
    await this.ports.orders.challenged(this.request.lease, this.stored.id, this.stored.challenges);
    this.hasNewChallenges = false;
  }

  /** Withdraws this order's challenge values; values that cannot be attributed expire within a day. */
  async withdraw(tx: Tx | null = null): Promise<void> {
    const published = publishedFor(this.stored.challenges, this.session.key, this.request);
    await this.ports.challenges.withdraw(published, tx);
  }

  /** Stores that the certificate was downloaded, and withdraws the values. @throws LeaseLost */
  async issued(tx: Tx | null): Promise<void> {
    const { id, certificateUrl } = this.stored;
    if (certificateUrl === null) throw new Error(`no certificate of ACME order ${id} was downloaded`);
    const { lease } = this.request;
    await together([this.ports.orders.issued(lease, id, certificateUrl, tx), this.withdraw(tx)]);
  }

  private async methods(
    authorizations: readonly AcmeAuthorization[],
  ): Promise<ReadonlyMap<string, readonly ChallengeType[]>> {
    const { session, request, ports } = this;
    const standing = (await ports.persistent?.standing(authorizations, session.account.url)) ?? new Set();
    return new Map(
      request.approvals.map((approval) => {
        const challenge = challengeOf(approval);
        const persistent: ChallengeType[] = standing.has(approval.dnsName) ? ['dns-persist-01'] : [];
        return [approval.dnsName, challenge === null ? persistent : [...persistent, challenge]];
      }),
    );
  }

  /** @returns null while the CA returns another issuance's order */
  private async order(): Promise<AcmeOrder | null> {
    const { orderUrl } = this.stored;
    if (orderUrl === null) return await this.open();
    return await this.read(orderUrl);
  }

  private async read(orderUrl: string): Promise<AcmeOrder> {
    await this.about('order');
    return assertNames(await this.session.account.order(orderUrl), this.request.dnsNames);
  }

  private async open(): Promise<AcmeOrder | null> {
    const { id } = this.stored;
    const { accountId, dnsNames, lease } = this.request;
    const { account, authority, row } = this.session;
    const { limits } = authority;
    const order = await newOrder(
      account,
      { ...this.stored, dnsNames },
      {
        request: async () => await this.about('newOrder'),
        withoutReplaces: async () => {
          const needs =
            limits.replacementsExempt === true ? limitNeeds(dnsNames, limits, { replaces: false }) : [];
          await this.ports.buckets.spend(row.id, needs, accountId, async (tx) => {
            await this.ports.orders.withoutReplaces(lease, id, tx);
          });
          this.keep({ replaces: null });
        },
      },
    );
    try {
      const isToFinalize = order.status === 'pending' || order.status === 'ready';
      await this.ports.orders.opened(lease, id, order.url, isToFinalize);
    } catch (error) {
      if (error instanceof OrderTaken) return null;
      throw error;
    }
    this.keep({ state: 'open', orderUrl: order.url }, 'open');
    return order;
  }

  private async authorizations(urls: readonly string[]): Promise<readonly AcmeAuthorization[]> {
    const read: AcmeAuthorization[] = [];
    await sideBySide(requestsAtOnce, urls, async (url) => {
      await this.about('authorization');
      read.push(await this.session.account.authorization(url));
    });
    return read;
  }

  /** `decided`: the CA validates before it responds, so that there is nothing to wait for. */
  private async respond(
    challenges: readonly ChallengeToRespond[],
    authorizations: readonly AcmeAuthorization[],
  ): Promise<({ readonly kind: 'not_yet' } & NotYet) | { readonly kind: 'responded' | 'decided' }> {
    const { request, ports, session } = this;
    const published = publishedFor(challenges, session.key, request);
    await request.hold(exchangeMs);
    const attributes = { 'certwright.values': published.length };
    const notYet = await inSpan('publish challenge values', { attributes }, async () => {
      return await ports.challenges.publish(published);
    });
    if (notYet !== null) return { kind: 'not_yet', ...notYet };
    await request.hold(exchangeMs);
    const unseen = await ports.challenges.unseen(published);
    if (unseen !== null) return { kind: 'not_yet', problem: unseen, pauseMs: null };
    const decided = new Set<string>();
    const refusals = new Map<ChallengeToRespond, AcmeFault>();
    await sideBySide(requestsAtOnce, challenges, async (challenge) => {
      await this.about('respond');
      try {
        const { status } = await session.account.respond(challenge.url);
        if (status === 'valid' || status === 'invalid') decided.add(challenge.url);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refusals.set(challenge, error);
      }
    });
    const unanswered = new Set<ChallengeToRespond>();
    await sideBySide(requestsAtOnce, [...refusals.keys()], async (challenge) => {
      const state = await this.stateOfRefused(challenge, urlOf(authorizations, challenge));
      if (state === 'decided') decided.add(challenge.url);
      if (state === 'pending') unanswered.add(challenge);
    });
    const responded = challenges
      .filter((challenge) => !unanswered.has(challenge))
      .map((challenge) => ({ ...challenge, authorizationUrl: urlOf(authorizations, challenge) }));
    const after = withResponses(this.stored.challenges, responded, request.clock());
    this.keep({ challenges: [...after] });
    this.hasNewChallenges = true;
    const [refused] = unanswered;
    if (refused !== undefined) {
      this.doing = { ...this.doing, operation: 'respond' };
      throw refusals.get(refused) ?? new Error(`no refusal of ${refused.url}`);
    }
    return { kind: decided.size === challenges.length ? 'decided' : 'responded' };
  }

  /**
   * A CA refuses the response to a challenge that is decided or in progress; otherwise it has not accepted it, and the
   * refusal may pass. A refused repetition says nothing about the first response.
   */
  private async stateOfRefused(
    { url }: ChallengeToRespond,
    authorizationUrl: string,
  ): Promise<'pending' | 'in_progress' | 'decided'> {
    if (this.stored.challenges.some(({ challengeUrl }) => challengeUrl === url)) return 'in_progress';
    await this.about('authorization');
    const { status, challenges } = await this.session.account.authorization(authorizationUrl);
    const challenge = challenges.find((each) => each.url === url);
    if (status !== 'pending' || challenge === undefined) return 'decided';
    if (challenge.status === 'processing') return 'in_progress';
    return challenge.status === 'pending' ? 'pending' : 'decided';
  }

  private async finalize(order: AcmeOrder): Promise<AcmeOrder> {
    const { lease, csr, clock } = this.request;
    await this.about('finalize');
    const challenges = this.hasNewChallenges ? this.stored.challenges : null;
    await this.ports.orders.finalizing(lease, this.stored.id, challenges);
    this.hasNewChallenges = false;
    this.keep({ finalizedAt: this.stored.finalizedAt ?? clock() }, 'finalized');
    return await this.session.account.finalize(order, csr);
  }

  private async download(certificateUrl: string): Promise<OrderRunEnd> {
    this.keep({ certificateUrl });
    const downloaded = await downloadChain(
      this.session,
      certificateUrl,
      async () => await this.about('certificate'),
      this.request.failures > 0,
    );
    this.keep({}, 'issued');
    return downloaded;
  }

  private async about(operation: FaultContext['operation']): Promise<void> {
    this.doing = { ...this.doing, operation };
    await this.request.hold(exchangeMs);
    this.exchangeSinceMs = performance.now();
  }

  private async passes(): Promise<void> {
    if (this.hasPassed) return;
    this.hasPassed = true;
    await trialAt(this.request.trial, this.session.authority.name)?.passed();
  }

  private keep(change: Partial<AcmeOrderEntity>, stage: OrderStage = this.doing.stage): void {
    this.stored = { ...this.stored, ...change };
    this.doing = { ...this.doing, stage };
  }
}

/** Whether the CA refuses the request itself. An unknown account says nothing about the challenge. */
function isRefusal(error: unknown): error is AcmeFault {
  if (!(error instanceof AcmeFault) || error.kind !== 'problem') return false;
  return !isPassing(error) && !isProblem(error, 'accountDoesNotExist');
}
