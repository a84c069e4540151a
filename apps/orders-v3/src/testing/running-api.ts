import { createHash, randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RunningFront, type SpecSettings, Tenant } from '@certwright/core-testing';
import type { ApiDocument } from '@certwright/testing';
import { ordersSettings } from '../config';
import { start } from '../front';

export type { Tenant } from '@certwright/core-testing';

/** Value of `SEALING_KEYS` in specs. */
export const specSealingKey = randomBytes(32).toString('base64');

/** `openapi.json`. */
export const keptDocument = JSON.parse(
  readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'),
) as ApiDocument;

const front = {
  Tenant,
  name: 'orders-v3',
  settings: ordersSettings,
  start,
  document: keptDocument,
  environment: { SEALING_KEYS: specSealingKey },
  // The sweep, and the rounds of notices.
  isOfBackground: (statement: string) =>
    /account_with_news|FROM rollout|to_regclass\('installation'\) IS/.test(statement),
};

export type RunningApi = RunningFront;

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export const RunningApi = {
  start: async (settings?: SpecSettings): Promise<RunningApi> => await RunningFront.start(front, settings),
};

export interface ForgedCertificate {
  readonly dnsNames: readonly string[];
  /** SHA-256 over the SubjectPublicKeyInfo, hex. */
  readonly pubkeySha256: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly revokedAt?: Date;
  readonly isCurrent?: boolean;
}

const day = 86_400_000;

/** A certificate of an order, as the worker would have attached it; its DER is any bytes. @returns its id */
export async function attachCertificate(
  { database }: RunningApi,
  tenant: Tenant,
  orderName: string,
  certificate: ForgedCertificate,
): Promise<number> {
  const id = randomInt(1, 2 ** 47);
  const leaf = Buffer.from(`leaf ${id}`);
  const { notBefore = new Date(Date.now() - day), notAfter = new Date(Date.now() + 90 * day) } = certificate;
  await database.query(
    `INSERT INTO certificate_chain (sha256, chain, root) VALUES ('\\x01', ARRAY['\\x02'::bytea], '\\x03') ON CONFLICT DO NOTHING`,
  );
  await database.query(
    `WITH made AS (
       INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
       SELECT plan.id, plan.account_id, plan.terms_id, 1000000 + $11, 'issued', '[]', now(), now() FROM plan JOIN order_v3 ON plan_id = plan.id
       WHERE order_v3.account_id = $1 AND order_v3.name = $2 RETURNING id, plan_id, account_id)
     INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, revoked_at)
     SELECT $3, account_id, plan_id, id, $4, $5, 'ecdsa', '01', $6, $7, $8, $9, $10, '\\x01', $12 FROM made`,
    [
      tenant.accountId,
      orderName,
      id,
      certificate.isCurrent ?? true,
      certificate.dnsNames,
      notBefore,
      notAfter,
      createHash('sha256').update(leaf).digest(),
      Buffer.from(certificate.pubkeySha256, 'hex'),
      leaf,
      randomInt(1, 1_000_000),
      certificate.revokedAt ?? null,
    ],
  );
  return id;
}
