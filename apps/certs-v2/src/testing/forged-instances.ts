import { createHash, randomInt } from 'node:crypto';
import type { RunningApi } from './running-api';
import type { Tenant } from './tenant';

/** What deviates from a certificate of the object's present terms that is the current one. */
export interface ForgedCertificate {
  /** DER; left out: any bytes. */
  readonly leaf?: Uint8Array;
  /** DER, without the root; left out: one intermediate of any bytes. */
  readonly chain?: readonly Uint8Array[];
  readonly root?: Uint8Array;
  readonly dnsNames?: readonly string[];
  /** SHA-256 over the SubjectPublicKeyInfo, hex. */
  readonly pubkeyHash?: string;
  /** A day ago. */
  readonly notBefore?: Date;
  /** In 90 days. */
  readonly notAfter?: Date;
  readonly revokedAt?: Date;
  readonly isCurrent?: boolean;
}

export interface ForgedInstance {
  readonly certificateId: string;
  /** Null for an imported one. */
  readonly issuanceId: string | null;
  /** What the API calls it. */
  readonly instanceId: number;
}

const dayMs = 86_400_000;

/** A certificate of an object, as the worker would have attached it. One that is current takes the place of the one before. */
export async function attachCertificate(
  { database }: RunningApi,
  { accountId }: Tenant,
  cn: string,
  certificate: ForgedCertificate = {},
): Promise<ForgedInstance> {
  const [issuance] = await database.query<{ id: string; public_id: string; plan_id: string }>(
    `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
     SELECT plan.id, plan.account_id, plan.terms_id, 1000000 + $3, 'issued', '[]', now(), now()
     FROM plan JOIN cert_object_v2 ON plan_id = plan.id WHERE plan.account_id = $1 AND cn = $2
     RETURNING id, public_id, plan_id`,
    [accountId, cn, randomInt(1, 1_000_000_000)],
  );
  if (issuance === undefined) throw new Error(`there is no certificate object ${cn}`);
  const certificateId = await insertCertificate(database, issuance.plan_id, issuance.id, certificate);
  return { certificateId, issuanceId: issuance.id, instanceId: Number(issuance.public_id) };
}

/** A certificate that its owner brought along. */
export async function attachImported(
  { database }: RunningApi,
  { accountId }: Tenant,
  cn: string,
  certificate: ForgedCertificate = {},
): Promise<ForgedInstance> {
  const [object] = await database.query<{ plan_id: string }>(
    `SELECT plan_id FROM cert_object_v2 WHERE account_id = $1 AND cn = $2`,
    [accountId, cn],
  );
  if (object === undefined) throw new Error(`there is no certificate object ${cn}`);
  const certificateId = await insertCertificate(database, object.plan_id, null, certificate);
  return { certificateId, issuanceId: null, instanceId: Number(certificateId) };
}

/** What deviates from an open issuance whose names wait for their approval. */
export interface ForgedIssuance {
  readonly state?: 'open' | 'superseded' | 'canceled' | 'failed';
  /** DNS names that are approved already, in the way that the terms say. */
  readonly approved?: readonly string[];
  readonly expiresBy?: Date;
}

/** An attempt at the object's present terms; due in an hour, so that no worker takes it. */
export async function openIssuance(
  { database }: RunningApi,
  { accountId }: Tenant,
  cn: string,
  { state = 'open', approved = [], expiresBy }: ForgedIssuance = {},
): Promise<ForgedInstance & { readonly issuanceId: string }> {
  const [row] = await database.query<{ id: string; public_id: string }>(
    `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at, expires_by)
     SELECT plan.id, plan.account_id, terms.id, plan.revision, $3, (
         SELECT jsonb_agg(jsonb_build_object('dnsName', name, 'problem', null, 'way', approval_ways -> name,
           'status', CASE WHEN name = ANY ($4) THEN 'approved' ELSE 'pending' END,
           'method', CASE WHEN name = ANY ($4) THEN approval_ways -> name -> 'method' END,
           'checkedAt', CASE WHEN name = ANY ($4) THEN to_jsonb(now()) END) ORDER BY at)
         FROM unnest(terms.dns_names) WITH ORDINALITY AS named (name, at)),
       now() + interval '1 hour', CASE WHEN $3 <> 'open' THEN now() END, $5
     FROM plan JOIN cert_object_v2 ON plan_id = plan.id JOIN terms ON terms.id = plan.terms_id
     WHERE plan.account_id = $1 AND cn = $2 RETURNING id, public_id`,
    [accountId, cn, state, approved, expiresBy ?? null],
  );
  if (row === undefined) throw new Error(`there is no certificate object ${cn}`);
  return { certificateId: '', issuanceId: row.id, instanceId: Number(row.public_id) };
}

async function insertCertificate(
  database: RunningApi['database'],
  planId: string,
  issuanceId: string | null,
  certificate: ForgedCertificate,
): Promise<string> {
  const id = String(randomInt(1, 2 ** 47));
  const { leaf = Buffer.from(`leaf ${id}`), isCurrent = true, revokedAt = null } = certificate;
  const { notBefore = new Date(Date.now() - dayMs), notAfter = new Date(Date.now() + 90 * dayMs) } =
    certificate;
  if (isCurrent)
    await database.query(`UPDATE certificate SET is_current = false WHERE plan_id = $1`, [planId]);
  const chainSha256 = await insertChain(database, certificate);
  await database.query(
    `INSERT INTO certificate (id, account_id, plan_id, issuance_id, imported, is_current, dns_names, key_type,
       serial_number, not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, revoked_at)
     SELECT $1, plan.account_id, plan.id, $3, $3::bigint IS NULL, $4, coalesce($5, terms.dns_names), terms.key_type, '01',
       $6, $7, $8, coalesce($9, terms.spki_sha256), $10, $11, $12
     FROM plan JOIN terms ON terms.id = plan.terms_id WHERE plan.id = $2`,
    [
      id,
      planId,
      issuanceId,
      isCurrent,
      certificate.dnsNames ?? null,
      notBefore,
      notAfter,
      sha256(leaf),
      certificate.pubkeyHash === undefined ? null : Buffer.from(certificate.pubkeyHash, 'hex'),
      leaf,
      chainSha256,
      revokedAt,
    ],
  );
  return id;
}

async function insertChain(
  database: RunningApi['database'],
  { chain = [Buffer.from('an intermediate')], root = Buffer.from('a root') }: ForgedCertificate,
): Promise<Buffer> {
  const digest = sha256(Buffer.concat([...chain, root]));
  await database.query(
    `INSERT INTO certificate_chain (sha256, chain, root) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [digest, chain, root],
  );
  return digest;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
