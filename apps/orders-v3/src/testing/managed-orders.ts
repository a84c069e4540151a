import { randomBytes } from 'node:crypto';
import { agentId } from '@certwright/agent-contract';
import type { InstallationState } from '@certwright/agent-contract';
import type { ServedCertificate } from '@certwright/core-schema';
import { certificateRequest, keyPair } from './certificate-request';
import { attachCertificate, type RunningApi, type Tenant } from './running-api';

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

export interface InstallationFixture {
  readonly agent: string;
  readonly point?: string;
  readonly state: InstallationState;
  /** Of the installed certificate, hex. */
  readonly certificate?: string | null;
  readonly sinceMinutesAgo?: number;
  readonly problem?: string | null;
  readonly served?: readonly ServedCertificate[];
}

/** What an agent reported of an order. */
export async function reported(
  { database }: RunningApi,
  planId: string,
  installation: InstallationFixture,
): Promise<void> {
  const { agent, point = 'nginx', state, certificate = null, sinceMinutesAgo = 60 } = installation;
  const { problem = null, served = [] } = installation;
  await database.query(
    `INSERT INTO installation (plan_id, agent_id, point, state, certificate_sha256, since, problem, served)
     VALUES ($1, $2, $3, $4, decode($5, 'hex'), now() - make_interval(mins => $6), $7, $8)
     ON CONFLICT (plan_id, agent_id, point) DO UPDATE SET state = excluded.state, problem = excluded.problem,
       certificate_sha256 = excluded.certificate_sha256, since = excluded.since, served = excluded.served`,
    [planId, agent, point, state, certificate, sinceMinutesAgo, problem, JSON.stringify(served)],
  );
}

export interface RolloutFixture {
  readonly firstAgent?: string;
  readonly begunHoursAgo?: number;
  readonly isServed?: boolean;
  readonly isStopped?: boolean;
}

/** A current certificate of an order, which is rolled out. @returns its SHA-256, hex */
export async function rolledOut(
  api: RunningApi,
  tenant: Tenant,
  name: string,
  { firstAgent, begunHoursAgo = 25, isServed = false, isStopped = false }: RolloutFixture = {},
): Promise<string> {
  await api.database.query(
    `UPDATE certificate SET is_current = false FROM order_v3
     WHERE order_v3.plan_id = certificate.plan_id AND order_v3.account_id = $1 AND name = $2`,
    [tenant.accountId, name],
  );
  const id = await attachCertificate(api, tenant, name, {
    dnsNames: ['example.com'],
    pubkeySha256: 'ab'.repeat(32),
  });
  const [row] = await api.database.query<{ sha256: string }>(
    `INSERT INTO rollout (plan_id, certificate_sha256, begun_at, first_agent, first_since, served_at, stopped_at)
     SELECT plan_id, sha256, now() - make_interval(hours => $2), $3, CASE WHEN $3::text IS NOT NULL THEN now() END,
       CASE WHEN $4 THEN now() END, CASE WHEN $5 THEN now() END FROM certificate WHERE id = $1
     ON CONFLICT (plan_id) DO UPDATE SET certificate_sha256 = excluded.certificate_sha256, begun_at = excluded.begun_at,
       first_agent = excluded.first_agent, first_since = excluded.first_since, served_at = excluded.served_at,
       stopped_at = excluded.stopped_at, noticed_at = NULL, stop_noticed_at = NULL
     RETURNING encode(certificate_sha256, 'hex') AS sha256`,
    [id, begunHoursAgo, firstAgent ?? null, isServed, isStopped],
  );
  if (row === undefined) throw new Error(`no certificate ${id}`);
  return row.sha256;
}
