import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import type { Backfills } from './backfills.repository';

/** The monitored domains of one account, as they are now: read after its backfill, so that the change is applied. */
export async function indexOf(
  backfills: Pick<Backfills, 'domainsOf'>,
  account: string,
): Promise<MonitoredDomainIndex> {
  const index = new MonitoredDomainIndex();
  for (const { name, enabled } of await backfills.domainsOf(account)) index.set(account, name, enabled);
  return index;
}

/** Max lengths (RFC 1035, 2.3.4), without the dot at the end. */
const maxBytes = { label: 63, name: 253 };

/** Whether a certificate for the name, or of a tree for a name that no object names, would concern the account. */
export function isMonitored(index: MonitoredDomainIndex, name: string): boolean {
  const names = name.startsWith('.') ? [name.slice(1), unnamedIn(name)] : [name];
  return names.some((each) => index.match([each]).accounts.length > 0);
}

/** A name below a tree that is improbable as an object. */
function unnamedIn(tree: string): string {
  const length = Math.min(maxBytes.label, maxBytes.name - tree.length);
  return length > 0 ? 'x'.repeat(length) + tree : tree.slice(1);
}
