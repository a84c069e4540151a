import { credentialsContext, secretContext } from '@certwright/webhooks';
import { OutboundFault } from '@certwright/outbound';
import type { DeliveryBounds, LeasedDeliveries, LeasedDelivery } from '@certwright/persistence';
import type { SealingKeys } from '@certwright/sealing';
import { type Answer, type Judged, judgeAnswer } from './answer';
import type { FailingPlaces } from './failing-places';
import { nextTry } from './next-try';
import type { WebhookEvents } from './webhook-events';
import { webhookHeaders } from './webhook-request';

/** A success is an answer within this time, connecting included. */
export const answerWithinMs = 15_000;

/** Longer than the longest try, so that a lease is lost by accident only. */
const leaseMs = 2 * answerWithinMs;

/** How soon a delivery comes back that a fault of ours, or the end of this process, kept from being tried. */
const afterStumbleMs = 60_000;
const afterStopMs = 0;

export interface DeliverPorts {
  readonly deliveries: Pick<LeasedDeliveries, 'lease' | 'recordAttempt' | 'postpone'>;
  readonly sealing: Pick<SealingKeys, 'open'>;
  /** @throws OutboundFault; what the signal's reason is when it aborts */
  readonly post: (request: PostRequest) => Promise<Answer>;
  readonly events: WebhookEvents;
  readonly bounds: DeliveryBounds;
  readonly failingPlaces: FailingPlaces;
  /** Aborts when this process may wait no longer for answers. */
  readonly stopping: AbortSignal;
  /** 0 to 1. */
  readonly random: () => number;
}

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** One try of one delivery: lease, send, judge, record. */
export class DeliverWebhook {
  constructor(private readonly ports: DeliverPorts) {}

  async run(deliveryId: string): Promise<void> {
    const { deliveries, bounds, failingPlaces } = this.ports;
    const giveBack = failingPlaces.take();
    try {
      const leased = await deliveries.lease(deliveryId, leaseMs, bounds, giveBack !== null);
      if (leased === null) return;
      if (leased.endpoint.failingSince === null) giveBack?.();
      await this.deliver(leased);
    } finally {
      giveBack?.();
    }
  }

  private async deliver(leased: LeasedDelivery): Promise<void> {
    const { deliveries, events, stopping } = this.ports;
    try {
      await this.tryOnce(leased);
    } catch (error) {
      const stopped = stopping.aborted;
      if (!stopped) events.stumbled(leased, error);
      await deliveries.postpone(leased.lease, stopped ? afterStopMs : afterStumbleMs);
    }
  }

  private async tryOnce(leased: LeasedDelivery): Promise<void> {
    const { deliveries, events, random } = this.ports;
    const request = this.request(leased);
    const startedMs = performance.now();
    const answered = await this.send(request, leased.now);
    const durationMs = Math.round(performance.now() - startedMs);
    const now = new Date(leased.now.getTime() + durationMs);
    const { outcome, problem, status } = answered;
    const attempt = { startedAt: leased.now, durationMs, status, problem };
    const tried = { attempts: leased.delivery.attempts + 1, isTest: leased.delivery.planId === null };
    const jitter = random();
    const followed = await deliveries.recordAttempt(leased.lease, attempt, (health) =>
      nextTry(tried, outcome, health, now, jitter),
    );
    if (followed === null) events.leaseLost(leased);
    else events.tried(leased, attempt, followed);
  }

  private request({ delivery, endpoint, now }: LeasedDelivery): PostRequest {
    const { id, event, body } = delivery;
    const { sealing } = this.ports;
    const sealedSecrets = [endpoint.secretSealed, endpoint.previousSecretSealed].filter(
      (sealed) => sealed !== null,
    );
    const headers = webhookHeaders({
      id,
      event,
      body,
      timestampS: Math.floor(now.getTime() / 1_000),
      secrets: sealedSecrets.map((sealed) => sealing.open(sealed, secretContext(endpoint.id))),
      credentials:
        endpoint.credentialsSealed &&
        sealing.open(endpoint.credentialsSealed, credentialsContext(endpoint.id)),
    });
    return { url: endpoint.url, headers, body, timeoutMs: answerWithinMs, signal: this.ports.stopping };
  }

  private async send(request: PostRequest, now: Date): Promise<Judged & { readonly status: number | null }> {
    try {
      const answer = await this.ports.post(request);
      return { ...judgeAnswer(answer, now), status: answer.status };
    } catch (error) {
      if (!(error instanceof OutboundFault) || this.ports.stopping.aborted) throw error;
      return { outcome: { kind: 'failed', retryAfterMs: null }, problem: error.message, status: null };
    }
  }
}
