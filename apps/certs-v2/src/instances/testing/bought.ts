import { certificateRequest, type KeyPair, keyPair } from '../../testing/certificate-request';
import type { RunningApi } from '../../testing/running-api';
import type { ReceivedResponse } from '@certwright/testing';
import type { Tenant } from '../../testing/tenant';

export const pathOf = (cn: string) => `/api/v2/certs/${encodeURIComponent(cn)}`;

export const keys: KeyPair = keyPair('p256');
export const otherKeys: KeyPair = keyPair('p384');

export const csrFor = (cn: string, of: KeyPair = keys) => certificateRequest(of, { CN: cn });

/** An object that is approved by dns and has default SANs by default. */
export async function createObject(
  tenant: Tenant,
  cn: string,
  more: object = {},
): Promise<ReceivedResponse['json']> {
  const response = await tenant.post(pathOf(cn), { csr: csrFor(cn), approval_method: 'dns', ...more });
  if (response.status !== 200) throw new Error(response.text);
  return response.json;
}

/** Ids of issuances of an account as callers know them, with their states; oldest first. */
export async function issuancesOf({ database }: RunningApi, { accountId }: Tenant) {
  const rows = await database.query<{ public_id: string; state: string }>(
    `SELECT public_id, state FROM issuance WHERE account_id = $1 ORDER BY id`,
    [accountId],
  );
  return rows.map(({ public_id, state }) => [Number(public_id), state] as const);
}

/** What was charged and is not given back, oldest first. */
export async function chargesOf({ database }: RunningApi, { accountId }: Tenant) {
  return await database.query<{ kind: string; cents: number; instance: string }>(
    `SELECT kind, cents, issuance.public_id AS instance FROM charge JOIN issuance ON issuance.id = charge.issuance_id
     WHERE charge.account_id = $1 AND refunded_at IS NULL ORDER BY charge.id`,
    [accountId],
  );
}

export interface AttachedInstance {
  /** In days from now. */
  readonly from?: number;
  readonly to?: number;
  readonly leaf?: Uint8Array;
}

/** The worker's part: the pending instance of an object becomes active and, being the newest, the current one. */
export async function activatePending(
  { database }: RunningApi,
  { accountId }: Tenant,
  cn: string,
  { from = -1, to = 364, leaf }: AttachedInstance = {},
): Promise<void> {
  await database.query(
    `INSERT INTO certificate_chain (sha256, chain, root) VALUES ('\\x01', ARRAY['\\x02'::bytea], '\\x03') ON CONFLICT DO NOTHING`,
  );
  // In one transaction, like an attachment: others must not see an issuance without its certificate.
  await database.transaction(async (tx) => {
    const rows = await tx.query(
      `WITH closed AS (
       UPDATE issuance SET state = 'issued', closed_at = now() FROM cert_object_v2 AS object
       WHERE object.account_id = $1 AND object.cn = $2 AND issuance.plan_id = object.plan_id AND issuance.state = 'open'
       RETURNING issuance.id, issuance.plan_id, issuance.terms_id),
     earlier AS (
       UPDATE certificate SET is_current = false FROM closed
       WHERE certificate.plan_id = closed.plan_id AND is_current RETURNING certificate.id)
     SELECT closed.id, (SELECT count(*) FROM earlier) AS earlier FROM closed`,
      [accountId, cn],
    );
    const [row] = rows as { id: string }[];
    if (row === undefined) throw new Error('no instance is pending');
    await tx.query(
      `INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, ca_reference)
     SELECT random_id(), issuance.account_id, issuance.plan_id, issuance.id, true, terms.dns_names, terms.key_type, '01',
       now() + $2 * interval '1 day', now() + $3 * interval '1 day', sha256(coalesce($4, int8send(issuance.id))),
       terms.spki_sha256, coalesce($4, int8send(issuance.id)), '\\x01', 'reference'
     FROM issuance JOIN terms ON terms.id = issuance.terms_id WHERE issuance.id = $1`,
      [row.id, from, to, leaf ?? null],
    );
  });
}
