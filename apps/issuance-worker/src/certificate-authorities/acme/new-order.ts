import type { AcmeOrderEntity } from '@certwright/core-schema';
import { type AcmeOrder, isProblem } from '../../acme';
import type { AcmeSession } from './acme-accounts';

/** Problems after which the order is created without `replaces` (RFC 9773, section 5). */
const replacesRefusals = ['alreadyReplaced', 'malformed', 'unauthorized'] as const;

/**
 * Creates an order; without `replaces` if the CA refuses that. Never sends `notAfter` (RFC 8555, section 7.1.3):
 * public CAs refuse such orders.
 *
 * @throws AcmeFault, LeaseLost
 */
export async function newOrder(
  account: AcmeSession['account'],
  {
    dnsNames,
    profile,
    replaces,
  }: Pick<AcmeOrderEntity, 'profile' | 'replaces'> & { readonly dnsNames: readonly string[] },
  before: {
    /** Called before each exchange. */
    readonly request: () => Promise<void>;
    /** Stores that the order has no `replaces`. */
    readonly withoutReplaces: () => Promise<void>;
  },
): Promise<AcmeOrder> {
  await before.request();
  try {
    return await account.newOrder({ dnsNames, profile, replaces });
  } catch (error) {
    if (replaces === null || !replacesRefusals.some((type) => isProblem(error, type))) throw error;
    await before.withoutReplaces();
    await before.request();
    return await account.newOrder({ dnsNames, profile });
  }
}
