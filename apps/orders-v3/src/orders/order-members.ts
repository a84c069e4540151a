import type { FieldFault } from '@certwright/errors';
import type { Order } from './order';
import type { OrderFault } from './order-rules';

/** What the members of an order are called on the wire. */
export const orderMembers = {
  name: 'name',
  dnsNames: 'dns_names',
  approverEmails: 'approver_emails',
  cluster: 'cluster',
  autoRenew: 'auto_renew',
  muted: 'muted',
  paused: 'paused',
  product: 'product',
  keyType: 'key_type',
  csr: 'csr',
} as const satisfies Record<keyof Order, string>;

/** Sent back by callers that read an order, change it and post it whole; what they say is ignored. */
export const readOnlyOrderMembers: ReadonlySet<string> = new Set([
  'revision',
  'current_cert',
  'current_cert_download',
  'pubkey_sha256',
  'issuance',
]);

export function fieldFault({ member, code, message }: OrderFault): FieldFault {
  return { field: orderMembers[member], code, message };
}
