import type { Pool } from 'pg';
import { OutboundFault } from '@certwright/outbound';
import type { PostRequest } from '../../../apps/notifier/src/webhooks/post.client';
import type { EndpointResponse } from '../../../apps/notifier/src/webhooks/endpoint-response';
import type { Chance } from '../chance';
import { freezeUntil } from '../faults/frozen-workers';

const hourMs = 3_600_000;

/** A message that an endpoint accepted. */
export interface ReceivedMessage {
  /** `webhook-id` */
  readonly id: string;
  readonly accountId: string;
  readonly planId: string;
  readonly version: number;
  /** SHA-256 of the announced current certificate, hex; null: none. */
  readonly currentSha256: string | null;
  readonly atMs: number;
}

export interface ReceiverFaults {
  isDead(accountId: string): boolean;
  readonly chance: Chance;
  /** Probability that a worker freezes after the response of the endpoint. */
  freezing(): number;
}

/** `https://hooks.example.com/<account>` */
export const endpointUrl = (accountId: string) => `https://hooks.example.com/${accountId}`;

/** The endpoints of all accounts. */
export class WebhookReceivers {
  readonly received: ReceivedMessage[] = [];

  constructor(
    private readonly auditor: Pool,
    private readonly faults: ReceiverFaults,
    private readonly nowMs: () => number,
  ) {}

  async post({ url, headers, body }: PostRequest): Promise<EndpointResponse> {
    const accountId = url.slice(url.lastIndexOf('/') + 1);
    if (this.faults.isDead(accountId))
      throw new OutboundFault('connect', 'The endpoint does not accept connections.');
    const id = headers['webhook-id'] ?? '';
    const { rows } = await this.auditor.query<{ plan_id: string; version: number }>(
      `SELECT plan_id, version FROM webhook_delivery WHERE id = $1`,
      [id],
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`the message ${id} is not a delivery`);
    const { plan_id: planId, version } = row;
    const atMs = this.nowMs();
    this.received.push({ id, accountId, planId, version, currentSha256: currentOf(body), atMs });
    const { chance, freezing } = this.faults;
    if (chance.happens(freezing(), 'frozen', id, atMs))
      await freezeUntil(atMs + chance.between(1, 10, 'frozen', id, 'hours') * hourMs);
    return { status: 204, retryAfter: null };
  }
}

interface Shown {
  readonly current_cert?: { readonly sha256: string } | null;
  readonly current?: { readonly sha256_fingerprint: string } | null;
}

function currentOf(body: string): string | null {
  const shown = JSON.parse(body) as Shown;
  return shown.current_cert?.sha256 ?? shown.current?.sha256_fingerprint ?? null;
}
