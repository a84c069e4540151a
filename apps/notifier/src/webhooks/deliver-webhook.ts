import { Batches } from '@certwright/core-schema';
import { credentialsContext, secretContext, testEvent } from '@certwright/webhooks';
import { OutboundFault } from '@certwright/outbound';
import type { DeliveredAttempt, LeasedDelivery, TriedDelivery } from './delivery-lease';
import { LeasedDeliveries } from './leased-deliveries';
import type { WebhookAttempt } from '@certwright/delivery';
import { Drain, repeatDuringOutage } from '@certwright/service';
import { causeOfRow } from '@certwright/jobs';
import { annotateSpan, inSpan } from '@certwright/tracing';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import { type ClassifiedResponse, classifyResponse } from './endpoint-response';
import type { Tried } from './endpoint-pace';
import { atNewAddress, nextTry, type TryOutcome } from './next-try';
import { PostClient, type PostRequest } from './post.client';
import { WebhookEvents } from './webhook-events';
import { webhookHeaders } from './webhook-request';

/** A success is a response within this time, connecting included. */
const responseTimeoutMs = 15_000;

/** Longer than the slowest attempt, so that a lease is lost only by accident. */
export const leaseMs = 2 * responseTimeoutMs;

/** Successes recorded by one statement. */
const maxRecorded = 100;

/** Delay of a delivery that was not tried because of an internal error or the end of this process. */
const afterErrorMs = 60_000;
const afterStopMs = 0;

/** Result of an attempt, for the pace of its endpoint; null when it shows nothing about the endpoint. */
export type Sent = Tried | null;

/** One attempt of one leased delivery: send, classify, record. */
@Injectable()
export class DeliverWebhook {
  readonly #successes: Batches<DeliveredAttempt, boolean>;

  constructor(
    private readonly deliveries: LeasedDeliveries,
    private readonly client: PostClient,
    private readonly events: WebhookEvents,
    private readonly drain: Drain,
    @Inject(Config) private readonly config: Pick<Config, 'SEALING_KEYS'>,
  ) {
    this.#successes = new Batches(maxRecorded, async (delivered) => {
      const recorded = await deliveries.recordDelivered(delivered);
      return delivered.map(({ lease }) => recorded.has(lease.deliveryId));
    });
  }

  /** Never throws. */
  async run(leased: LeasedDelivery): Promise<Sent> {
    const { delivery, endpoint, traceparent, now } = leased;
    const ageS = (now.getTime() - delivery.createdAt.getTime()) / 1_000;
    const attributes = {
      'certwright.delivery_id': delivery.id,
      'certwright.endpoint_id': endpoint.id,
      'certwright.account_id': delivery.accountId,
      'certwright.event': delivery.event,
      'certwright.attempt': delivery.attempts + 1,
    };
    // The endpoint does not get the traceparent, and the span does not get its URL, which may contain credentials.
    const { cause = null } = causeOfRow({ traceparent, ageS });
    return await inSpan('deliver webhook', { kind: 'client', cause, attributes }, async () => {
      return await this.attempt(leased);
    });
  }

  private async attempt(leased: LeasedDelivery): Promise<Sent> {
    try {
      return await this.tryOnce(leased);
    } catch (error) {
      const stopped = this.drain.signal.aborted;
      if (!stopped) this.events.unexpectedError(leased, error);
      await this.deliveries
        .postpone(leased.lease, stopped ? afterStopMs : afterErrorMs)
        .catch((failure: unknown) => this.events.unexpectedError(leased, failure));
      return null;
    }
  }

  private async tryOnce(leased: LeasedDelivery): Promise<Sent> {
    const request = this.request(leased);
    const startedMs = performance.now();
    const result = await this.send(request, leased.now);
    const durationMs = Math.round(performance.now() - startedMs);
    const { outcome, problem, status } = result;
    annotateSpan({ 'certwright.outcome': outcome.kind, 'http.response.status_code': status });
    const attempt = { startedAt: leased.now, durationMs, status, problem };
    // The endpoint has it: waits for the end of a database outage, so that it is not sent again.
    const record = async () => await this.record(leased, attempt, outcome);
    const followed = await repeatDuringOutage(record, {
      forMs: responseTimeoutMs,
      signal: this.drain.signal,
    });
    if (followed === null) {
      this.events.leaseLost(leased);
      return null;
    }
    this.events.tried(leased, attempt, followed);
    return { isDelivered: outcome.kind === 'delivered', durationMs };
  }

  private async record(
    leased: LeasedDelivery,
    attempt: WebhookAttempt,
    outcome: TryOutcome,
  ): Promise<TriedDelivery | null> {
    const { lease, endpoint, delivery } = leased;
    const now = new Date(leased.now.getTime() + attempt.durationMs);
    const tried = { attempts: delivery.attempts + 1, isTest: delivery.event === testEvent };
    const jitter = Math.random();
    if (outcome.kind === 'delivered' && endpoint.failingSince === null) {
      const isRecorded = await this.#successes.add({ lease, attempt });
      if (isRecorded) return nextTry(tried, outcome, endpoint, now, jitter);
    }
    return await this.deliveries.recordAttempt(lease, attempt, (health, url) =>
      outcome.kind === 'delivered' || url === endpoint.url
        ? nextTry(tried, outcome, health, now, jitter)
        : atNewAddress(health, now),
    );
  }

  private request({ delivery, endpoint, now }: LeasedDelivery): PostRequest {
    const { id, event, body } = delivery;
    const { SEALING_KEYS: sealing } = this.config;
    const { secretSealed, previousSecretSealed, olderSecretsSealed } = endpoint;
    const sealedSecrets = [secretSealed, previousSecretSealed, ...olderSecretsSealed].filter(
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
    return { url: endpoint.url, headers, body, timeoutMs: responseTimeoutMs, signal: this.drain.signal };
  }

  private async send(
    request: PostRequest,
    now: Date,
  ): Promise<ClassifiedResponse & { readonly status: number | null }> {
    try {
      const response = await this.client.post(request);
      return { ...classifyResponse(response, now), status: response.status };
    } catch (error) {
      if (!(error instanceof OutboundFault) || this.drain.signal.aborted) throw error;
      return { outcome: { kind: 'failed', retryAfterMs: null }, problem: error.message, status: null };
    }
  }
}
