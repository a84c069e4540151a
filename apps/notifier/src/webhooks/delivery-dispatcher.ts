import { RunningProcess } from '@certwright/service';
import { withoutSpan } from '@certwright/tracing';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Config } from '../config';
import type { LeasedDelivery, LeaseRequest, WaitingEndpoint } from './delivery-lease';
import { LeasedDeliveries } from './leased-deliveries';
import { DeliverWebhook, leaseMs, type Sent } from './deliver-webhook';
import { deliveryBounds, slowAfterMs } from './bounds';
import { firstPace, type Pace, paceAfter, paceWhile, type Standing } from './endpoint-pace';
import { FairQueue } from './fair-queue';

/** Deliveries of endpoints in the same state that are leased in one transaction: each is read with its body. */
const maxBatch = 64;

/** Delay when another process was leasing for the same account. */
const retryAfterMs = 20;

/**
 * Max deliveries, per slot, that have released their slot: each is a connection. Fast endpoints are admitted up to
 * twice as many.
 */
const overduePerPlace = 4;

/** Endpoints whose pace is remembered; the least recently used one is dropped first. */
const maxKnown = 10_000;

/** Deliveries in progress by the state of their endpoint; those waiting longer than `slowAfterMs` are separate. */
type Counts = Record<Standing | 'overdue', number>;

interface Endpoint {
  readonly id: string;
  readonly accountId: string;
  pace: Pace;
  /** Start of each delivery in progress, ms, by its id; the oldest first. */
  readonly underWay: Map<string, number>;
}

/**
 * Decides which deliveries this process sends next. Half of the slots are for fast endpoints, a quarter for untested
 * ones, a quarter for failing or slow ones: no group can use the slots of another. A delivery that waits long for its
 * response releases its slot, so that dead endpoints do not delay each other or recovered ones. A slot that becomes
 * free after a success is filled at once; a failing endpoint waits for the next sweep.
 */
@Injectable()
export class DeliveryDispatcher implements OnModuleDestroy, BeforeApplicationShutdown {
  /** Monotonic, ms. */
  nowMs = (): number => performance.now();
  /** In order of last use. */
  readonly #known = new Map<string, Endpoint>();
  readonly #queues: Readonly<Record<Standing, FairQueue>> = {
    quick: new FairQueue(),
    untested: new FairQueue(),
    doubtful: new FairQueue(),
  };
  /** Endpoints with deliveries in progress. */
  readonly #busy = new Set<Endpoint>();
  readonly #sending = new Set<Promise<void>>();
  #woken = new Set<string>();
  readonly #retried = new Set<string>();
  #isWanted = false;
  #isStopped = false;
  #rounds: Promise<void> | null = null;

  constructor(
    private readonly deliveries: LeasedDeliveries,
    private readonly deliver: DeliverWebhook,
    private readonly running: RunningProcess,
    /** `DELIVERY_CONCURRENCY`: concurrent deliveries, without those that have been waiting for long. */
    @Inject(Config) private readonly config: Pick<Config, 'DELIVERY_CONCURRENCY'>,
  ) {}

  /** Endpoints found by the sweep: recovers lost wake-ups, and retries failing endpoints. */
  sweep(waiting: readonly WaitingEndpoint[]): void {
    for (const endpoint of waiting.slice(0, maxKnown)) this.#enqueue(this.#endpoint(endpoint));
    this.#wake();
  }

  /** A delivery that may be due. */
  wakeDelivery(deliveryId: string): void {
    this.#woken.add(deliveryId);
    this.#wake();
  }

  /**
   * Seconds that the oldest delivery has been waiting for this platform. Deliveries to endpoints that are failing,
   * slow or being tried for the first time wait for their endpoint and do not count.
   */
  longestWaitS(waiting: readonly WaitingEndpoint[]): number {
    const waitsForUs = (endpoint: WaitingEndpoint) => {
      const known = this.#endpoint(endpoint);
      const { standing } = this.#paceOf(known);
      const isTestedNow = standing === 'untested' && known.underWay.size > 0;
      return !endpoint.isFailing && standing !== 'doubtful' && !isTestedNow;
    };
    return waiting.filter(waitsForUs).reduce((longest, { overdueS }) => Math.max(longest, overdueS), 0);
  }

  /** Starts nothing more. */
  onModuleDestroy(): void {
    this.#isStopped = true;
  }

  /** Waits for deliveries in progress. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#rounds;
    await Promise.all(this.#sending);
  }

  #wake(): void {
    this.#isWanted = true;
    if (this.#isStopped) return;
    // For the deliveries of all jobs.
    this.#rounds ??= withoutSpan(async () => await this.#run());
  }

  async #run(): Promise<void> {
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      try {
        await this.#round();
      } catch (error) {
        this.running.log.warn({ err: error }, 'deliveries not leased; retried by the next sweep');
      }
    }
    this.#rounds = null;
  }

  async #round(): Promise<void> {
    if (this.#woken.size > 0) {
      const woken = [...this.#woken];
      this.#woken = new Set();
      for (const endpoint of await this.deliveries.waitingAt(woken)) this.#enqueue(this.#endpoint(endpoint));
    }
    const requests = this.#nextRequests();
    if (requests.length === 0) return;
    const { leased, retry } = await this.deliveries.lease(requests, leaseMs, deliveryBounds);
    for (const each of leased) this.#start(each);
    this.#enqueueFull(requests, leased);
    // Until there is nothing more to request: a round is bounded, and its leases may be followed by more.
    this.#isWanted = true;
    this.#retryLater(retry);
  }

  /** Endpoints that filled their requested lease count may have more waiting. */
  #enqueueFull(requests: readonly LeaseRequest[], leased: readonly LeasedDelivery[]): void {
    const counts = new Map<string, number>();
    for (const { endpoint } of leased) counts.set(endpoint.id, (counts.get(endpoint.id) ?? 0) + 1);
    const full = requests.filter(({ endpointId, max }) => counts.get(endpointId) === max);
    this.#enqueueAll(full.map(({ endpointId }) => endpointId));
  }

  #enqueueAll(endpointIds: readonly string[]): void {
    for (const id of endpointIds) {
      const endpoint = this.#known.get(id);
      if (endpoint !== undefined) this.#enqueue(endpoint);
    }
  }

  #retryLater(endpointIds: readonly string[]): void {
    if (endpointIds.length === 0) return;
    if (this.#retried.size === 0) {
      setTimeout(() => {
        this.#enqueueAll([...this.#retried]);
        this.#retried.clear();
        this.#wake();
      }, retryAfterMs).unref();
    }
    for (const id of endpointIds) this.#retried.add(id);
  }

  #nextRequests(): LeaseRequest[] {
    const taken = new Map<string, number>();
    const counts = this.#counts();
    for (const standing of ['quick', 'untested', 'doubtful'] as const) {
      const queue = this.#queues[standing];
      for (let left = Math.min(maxBatch, this.#room(standing, counts)); left > 0;) {
        const id = queue.next();
        if (id === undefined) break;
        const endpoint = this.#known.get(id);
        if (endpoint === undefined) continue;
        const pace = this.#paceOf(endpoint);
        if (pace.standing !== standing) {
          this.#queues[pace.standing].add(endpoint.accountId, id);
          continue;
        }
        const own = (taken.get(id) ?? 0) + 1;
        if (endpoint.underWay.size + own > pace.places) continue;
        taken.set(id, own);
        counts[standing] += 1;
        left -= 1;
        queue.add(endpoint.accountId, id);
      }
    }
    return [...taken].map(([endpointId, max]) => ({ endpointId, max }));
  }

  #counts(): Counts {
    const counts = { quick: 0, untested: 0, doubtful: 0, overdue: 0 };
    const overdueSinceMs = this.nowMs() - slowAfterMs;
    for (const endpoint of this.#busy) {
      const { standing } = this.#paceOf(endpoint);
      for (const startedMs of endpoint.underWay.values()) {
        counts[startedMs <= overdueSinceMs ? 'overdue' : standing] += 1;
      }
    }
    return counts;
  }

  #room(standing: Standing, counts: Counts): number {
    const { DELIVERY_CONCURRENCY: concurrency } = this.config;
    const isQuick = standing === 'quick';
    const maxOverdue = (isQuick ? 2 : 1) * overduePerPlace * concurrency;
    if (counts.overdue >= maxOverdue) return 0;
    return Math.floor(concurrency / (isQuick ? 2 : 4)) - counts[standing];
  }

  #start(leased: LeasedDelivery): void {
    const { id: deliveryId, accountId } = leased.delivery;
    const endpoint = this.#endpoint({ endpointId: leased.endpoint.id, accountId, isFailing: false });
    endpoint.underWay.set(deliveryId, this.nowMs());
    this.#busy.add(endpoint);
    const sending = this.deliver.run(leased).then((sent) => {
      this.#sending.delete(sending);
      endpoint.underWay.delete(deliveryId);
      if (endpoint.underWay.size === 0) this.#busy.delete(endpoint);
      this.#finish(endpoint, sent);
    });
    this.#sending.add(sending);
  }

  #finish(endpoint: Endpoint, sent: Sent): void {
    if (sent === null) return;
    endpoint.pace = paceAfter(endpoint.pace, sent);
    if (!sent.isDelivered) return;
    this.#enqueue(endpoint);
    this.#wake();
  }

  #paceOf({ pace, underWay }: Endpoint): Pace {
    const [oldestMs] = underWay.values();
    return oldestMs === undefined ? pace : paceWhile(pace, this.nowMs() - oldestMs);
  }

  #enqueue(endpoint: Endpoint): void {
    this.#queues[this.#paceOf(endpoint).standing].add(endpoint.accountId, endpoint.id);
  }

  #endpoint({
    endpointId: id,
    accountId,
    isFailing,
  }: Pick<WaitingEndpoint, 'endpointId' | 'accountId' | 'isFailing'>): Endpoint {
    const endpoint = this.#known.get(id) ?? {
      id,
      accountId,
      pace: firstPace(isFailing),
      underWay: new Map<string, number>(),
    };
    this.#known.delete(id);
    this.#known.set(id, endpoint);
    if (this.#known.size > maxKnown) this.#forgetOne();
    return endpoint;
  }

  #forgetOne(): void {
    for (const [id, { underWay }] of this.#known) {
      if (underWay.size > 0) continue;
      this.#known.delete(id);
      return;
    }
  }
}
