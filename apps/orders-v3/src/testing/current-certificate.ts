import { Certificates } from '@certwright/ordering';
import { Transactions, type Tx } from '@certwright/core-schema';
import { OrdersRepository } from '../orders/orders.repository';
import type { StoredOrder } from '../orders/order';
import { attachCertificate, type ForgedCertificate, type RunningApi, type Tenant } from './running-api';

/** Waits in the middle of a change, while it holds the plan. */
export type Meanwhile = (tx: Tx, order: StoredOrder) => Promise<void>;

/**
 * A new certificate of an order becomes the current one, and the plan says that there is something to tell: as when the
 * worker attaches it.
 *
 * @returns its id
 */
export async function changeCurrent(
  api: RunningApi,
  tenant: Tenant,
  orderName: string,
  { certificate = {}, meanwhile }: { certificate?: Partial<ForgedCertificate>; meanwhile?: Meanwhile } = {},
): Promise<number> {
  const { json } = await tenant.get(`/api/v3/orders/${encodeURIComponent(orderName)}`);
  const forged = { dnsNames: json.dns_names, pubkeySha256: json.pubkey_sha256, isCurrent: false };
  const id = await attachCertificate(api, tenant, orderName, { ...forged, ...certificate });
  await api.app.get(Transactions).run(async (tx) => {
    const order = await api.app.get(OrdersRepository).lock(tx, tenant.accountId, orderName);
    if (order === null) throw new Error(`there is no order ${orderName}`);
    const wanted = { dnsNames: order.dnsNames, spkiSha256: order.csr?.spkiSha256 ?? null };
    await api.app.get(Certificates).reselectCurrent(tx, order.planId, wanted);
    await meanwhile?.(tx, order);
  });
  return id;
}
