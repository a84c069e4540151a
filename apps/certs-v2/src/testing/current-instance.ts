import { Certificates } from '@certwright/ordering';
import { Transactions, type Tx } from '@certwright/core-schema';
import { attachCertificate, type ForgedCertificate, type ForgedInstance } from './forged-instances';
import type { RunningApi, Tenant } from './running-api';

/** Waits in the middle of a change, while it holds the plan. */
export type Meanwhile = (tx: Tx, planId: string) => Promise<void>;

/**
 * A new certificate of an object becomes the current one, and the plan says that there is something to tell: as when the
 * worker attaches it.
 */
export async function changeCurrent(
  api: RunningApi,
  tenant: Tenant,
  cn: string,
  { certificate = {}, meanwhile }: { certificate?: ForgedCertificate; meanwhile?: Meanwhile } = {},
): Promise<ForgedInstance> {
  const instance = await attachCertificate(api, tenant, cn, { isCurrent: false, ...certificate });
  await reselectCurrent(api, tenant, cn, meanwhile);
  return instance;
}

/** Looks again which certificate is the best one, as after a revocation. */
export async function reselectCurrent(
  api: RunningApi,
  { accountId }: Tenant,
  cn: string,
  meanwhile?: Meanwhile,
): Promise<void> {
  await api.app.get(Transactions).run(async (tx) => {
    const [plan] = await tx.query<[{ id: string; dns_names: string[]; spki_sha256: Buffer }?]>(
      `SELECT plan.id, terms.dns_names, terms.spki_sha256
       FROM plan JOIN cert_object_v2 ON plan_id = plan.id JOIN terms ON terms.id = plan.terms_id
       WHERE plan.account_id = $1 AND cn = $2 FOR UPDATE OF plan`,
      [accountId, cn],
    );
    if (plan === undefined) throw new Error(`there is no certificate object ${cn}`);
    const wanted = { dnsNames: plan.dns_names, spkiSha256: plan.spki_sha256 };
    await api.app.get(Certificates).reselectCurrent(tx, plan.id, wanted);
    await meanwhile?.(tx, plan.id);
  });
}

/** An address that wants to know of the account's certificates. @returns its id */
export async function addWebhook(
  { database }: RunningApi,
  { accountId }: Tenant,
  enabled = true,
): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled)
     VALUES (random_id(), $1, 'https://hooks.example.com/', '', '', $2) RETURNING id`,
    [accountId, enabled],
  );
  return row?.id ?? '';
}
