import { randomBytes } from 'node:crypto';
import { apiKeySha256, mintApiKey } from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Pool } from 'pg';
import { endpointUrl } from '../world/webhook-receivers';

/** An account with its key and payments. */
export interface SimulatedAccount {
  readonly id: string;
  readonly apiKey: string;
  readonly hasWebhook: boolean;
  /** Payments, in hundredths. */
  readonly payments: number[];
  /** Intervals between a renewal that the account could not pay and the next payment. */
  readonly unpaid: { from: number; to: number }[];
}

/** Each has users with mail; two of three have a webhook. */
export async function makeAccounts(
  auditor: Pool,
  orders: NestFastifyApplication,
  count: number,
): Promise<SimulatedAccount[]> {
  const accounts: SimulatedAccount[] = [];
  for (let n = 1; n <= count; n += 1) {
    const id = String(1_000_000 + n);
    const apiKey = mintApiKey(id, randomBytes);
    await auditor.query(`INSERT INTO account (id, name, contact_email) VALUES ($1, $2, $3)`, [
      id,
      `Account ${n}`,
      `account-${n}@users.example`,
    ]);
    await auditor.query(
      `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, 'simulate', $2, $3)`,
      [id, apiKeySha256(apiKey), ['Full Access']],
    );
    const hasWebhook = n % 3 !== 0;
    if (hasWebhook) await addWebhook(orders, id, apiKey);
    accounts.push({ id, apiKey, hasWebhook, payments: [], unpaid: [] });
  }
  return accounts;
}

async function addWebhook(orders: NestFastifyApplication, id: string, apiKey: string): Promise<void> {
  const { statusCode, payload } = await orders.inject({
    method: 'POST',
    url: '/api/v3/account/webhooks',
    headers: { authorization: `Bearer ${apiKey}` },
    payload: { url: endpointUrl(id) },
  });
  if (statusCode !== 201) throw new Error(`adding a webhook failed: ${payload}`);
}
