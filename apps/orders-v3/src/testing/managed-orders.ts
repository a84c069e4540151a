import { randomBytes } from 'node:crypto';
import { agentId } from '@certwright/agent-contract';
import { certificateRequest, keyPair } from './certificate-request';
import type { RunningApi, Tenant } from './running-api';

export interface AgentFixture {
  readonly name?: string;
  readonly seenMinutesAgo?: number;
  readonly clockOffsetS?: number;
  readonly problem?: string;
}

/** An agent of a cluster, as its enrolment stores it. @returns its id */
export async function enrolledAgent(
  { database }: RunningApi,
  { accountId }: Tenant,
  cluster: string,
  { name = 'host', seenMinutesAgo = 0, clockOffsetS, problem }: AgentFixture = {},
): Promise<string> {
  const identityKey = randomBytes(32);
  const id = agentId(identityKey);
  await database.query(
    `WITH enrolment AS (
       INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, used, expires_at)
       VALUES ($1, $2, $3, 1, 1, now() - interval '40 days') RETURNING id)
     INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, statement, enrolment_id, name, version, platform,
       last_seen_at, clock_offset_s, problem)
     SELECT $4, $1, $2, $5, $3, NULL, enrolment.id, $6, '1.0.0', 'linux x64',
       now() - make_interval(mins => $7), $8, $9 FROM enrolment`,
    [
      ...[accountId, cluster, randomBytes(32), id, identityKey],
      ...[name, seenMinutesAgo, clockOffsetS ?? null, problem ?? null],
    ],
  );
  return id;
}

/** An order of a cluster for example.com with a CSR, as an agent sends it. @returns the id of its plan */
export async function managedOrder(
  api: RunningApi,
  tenant: Tenant,
  cluster: string,
  name: string,
): Promise<string> {
  const dnsNames = ['example.com'];
  const created = await tenant.post('/api/v3/orders', { name, cluster, dns_names: dnsNames });
  if (created.status !== 201) throw new Error(created.text);
  const csr = Buffer.from(certificateRequest(keyPair('p256'), { dnsNames }), 'base64');
  const spkiSha256 = randomBytes(32);
  const [row] = await api.database.query<{ planId: string }>(
    `WITH keyed AS (
       UPDATE order_v3 SET csr = $3, spki_sha256 = $4, key_type = 'ecdsa' WHERE account_id = $1 AND name = $2 RETURNING plan_id),
     agreed AS (
       INSERT INTO terms (plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
       SELECT plan_id, 'free_ca', $5, 'ecdsa', $3, $4, '{}' FROM keyed RETURNING id, plan_id),
     made AS (DELETE FROM key_request WHERE plan_id IN (SELECT plan_id FROM keyed))
     UPDATE plan SET terms_id = agreed.id FROM agreed WHERE plan.id = agreed.plan_id RETURNING plan.id AS "planId"`,
    [tenant.accountId, name, csr, spkiSha256, dnsNames],
  );
  if (row === undefined) throw new Error(`there is no order ${name}`);
  return row.planId;
}
