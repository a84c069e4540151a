import type { AcmeOrderEntity } from '@certwright/core-schema';
import { type AcmeOrder, isProblem } from '../../acme';
import type { AcmeSession } from './acme-accounts';

/** Where the CA says so, what `replaces` says is left out, and the order is opened without (RFC 9773, section 5). */
const replacesRefusals = ['alreadyReplaced', 'malformed', 'unauthorized'] as const;

/**
 * When a certificate is to end is not said (`notAfter`, RFC 8555, section 7.1.3): public CAs refuse an order that says so.
 * Opens an order, and where the CA does not like what it replaces, opens it without.
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
    readonly asking: () => Promise<void>;
    /** Stores that nothing is replaced. */
    readonly withoutReplaces: () => Promise<void>;
  },
): Promise<AcmeOrder> {
  await before.asking();
  try {
    return await account.newOrder({ dnsNames, profile, replaces });
  } catch (error) {
    if (replaces === null || !replacesRefusals.some((type) => isProblem(error, type))) throw error;
    await before.withoutReplaces();
    await before.asking();
    return await account.newOrder({ dnsNames, profile });
  }
}
