import type { WebhookAttempt } from '@certwright/delivery';

/** The right to try one delivery: lost when it expires by the database's clock, or when another process takes it. */
export interface DeliveryLease {
  readonly deliveryId: string;
  readonly endpointId: string;
  /** The fencing token. */
  readonly token: string;
}

/** How long and how often an endpoint has failed since its last success. */
export interface EndpointHealth {
  /** First failed attempt since the last success; null: there was none. */
  readonly failingSince: Date | null;
  /** Newest failed attempt since the last success. */
  readonly failedAt: Date | null;
}

/** All inputs of one attempt, read in the transaction that leased it. */
export interface LeasedDelivery {
  readonly lease: DeliveryLease;
  readonly delivery: {
    readonly id: string;
    readonly accountId: string;
    /** Null: a test event. */
    readonly planId: string | null;
    readonly event: string;
    readonly body: string;
    /** Attempts so far. */
    readonly attempts: number;
    readonly createdAt: Date;
  };
  readonly endpoint: EndpointHealth & {
    readonly id: string;
    readonly url: string;
    readonly credentialsSealed: Buffer | null;
    readonly secretSealed: Buffer;
    /** Null when its time is over. */
    readonly previousSecretSealed: Buffer | null;
    /** Those before it whose time is not over, newest first. */
    readonly olderSecretsSealed: readonly Buffer[];
  };
  /** The database's clock. */
  readonly now: Date;
  /** Of the span that caused the delivery; null: none is known. */
  readonly traceparent?: string | null;
}

/** The outcome of an attempt for the delivery and its endpoint. */
export interface TriedDelivery {
  readonly delivery:
    { readonly state: 'delivered' | 'failed' } | { readonly state: 'pending'; readonly dueAt: Date };
  readonly health: EndpointHealth;
  /** Reason why the endpoint is disabled from now on; null: it is not. */
  readonly disabledReason: string | null;
}

/** Limits of concurrent deliveries of all processes together. */
export interface DeliveryBounds {
  /** To one working endpoint. */
  readonly perEndpoint: number;
  /** To one endpoint that is failing. */
  readonly perFailingEndpoint: number;
  /** To all endpoints of one account. */
  readonly perAccount: number;
}

/** An endpoint with deliveries that could be sent now. */
export interface WaitingEndpoint {
  readonly endpointId: string;
  readonly accountId: string;
  /** The last attempt failed. */
  readonly isFailing: boolean;
  /** Seconds since the oldest of them became due. */
  readonly overdueS: number;
}

/** How many deliveries of one endpoint to lease. */
export interface LeaseRequest {
  readonly endpointId: string;
  readonly max: number;
}

export interface LeasedBatch {
  readonly leased: readonly LeasedDelivery[];
  /** Endpoints to request again soon: another process was leasing for their account, or deliveries were canceled. */
  readonly retry: readonly string[];
}

/** A delivery that succeeded. */
export interface DeliveredAttempt {
  readonly lease: DeliveryLease;
  readonly attempt: WebhookAttempt;
}
