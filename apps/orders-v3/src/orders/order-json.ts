import type { StoredCertificate } from '@certwright/ordering';
import type { StoredOrder } from './order';
import type { Addresses } from '../wire/addresses';
import { certificateJson } from '../wire/certificate-json';
import type { OrderExpansion } from '../wire/expansion';
import { type ApprovalPlaces, issuanceJson, type IssuanceFacts } from './issuance-json';

/** What the expanded members are made of. */
export interface OrderFactsToShow {
  readonly currentCert: StoredCertificate | null;
  /** Read when `issuance` is expanded. */
  readonly issuance: IssuanceFacts | null;
  readonly now: Date;
}

/** What an order's members point to. */
export class OrderSurroundings {
  constructor(
    readonly addresses: Addresses,
    readonly approvals: ApprovalPlaces,
  ) {}
}

/** An order in the words of the API. A member that is not expanded is absent, not null. */
export function orderJson(
  order: StoredOrder,
  expansion: OrderExpansion,
  facts: OrderFactsToShow,
  { addresses, approvals }: OrderSurroundings,
): object {
  return {
    name: order.name,
    dns_names: order.dnsNames,
    approver_emails: order.approverEmails,
    cluster: order.cluster,
    auto_renew: order.autoRenew,
    muted: order.muted,
    paused: order.paused,
    product: order.product,
    key_type: order.keyType,
    revision: order.revision,
    current_cert_download: addresses.download(order.downloadToken),
    pubkey_sha256: order.csr === null ? null : Buffer.from(order.csr.spkiSha256).toString('hex'),
    ...(expansion.csr
      ? { csr: order.csr === null ? null : Buffer.from(order.csr.der).toString('base64') }
      : {}),
    ...(expansion.currentCert === null
      ? {}
      : { current_cert: currentCertJson(expansion.currentCert, facts) }),
    ...(facts.issuance === null ? {} : { issuance: issuanceJson(order, facts.issuance, approvals) }),
  };
}

function currentCertJson(
  expansion: NonNullable<OrderExpansion['currentCert']>,
  { currentCert, now }: OrderFactsToShow,
): object | null {
  return currentCert === null ? null : certificateJson(currentCert, expansion, now);
}
