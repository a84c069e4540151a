import type { Product } from '@certwright/issuance';
import type { CertObject } from '../cert-objects/cert-object';
import { readCertObjectRequest } from '../cert-objects/cert-object-request';
import { type DesiredFacts, desiredCertObject } from '../cert-objects/desired-cert-object';
import type { Sent } from '../wire/arguments';
import { Refusal } from '../wire/reasons';

/** A product as the migration has paid_ca, with what a spec changes. */
export function product(changes: Partial<Product> = {}): Product {
  return {
    name: 'paid_ca',
    available: true,
    csrNamesEveryDnsName: false,
    maxDnsNames: 100,
    emailApproval: true,
    httpApproval: true,
    lifetimeDays: 365,
    subjectCommonName: true,
    certificateAuthority: 'built-in',
    authorities: [],
    rsaSizes: [2048, 3072, 4096],
    curves: ['P-256', 'P-384'],
    termDays: 365,
    priceCents: 0,
    wildcardPriceCents: 0,
    currency: 'USD',
    ...changes,
  };
}

const bothTypes: DesiredFacts = {
  products: { dv: product(), ev: product({ name: 'paid_ev_ca' }) },
  keyBlocked: false,
};

/** What a request with this JSON makes of an object; null: of none. */
export function desired(
  before: CertObject | null,
  cn: string,
  body: object,
  facts: Partial<DesiredFacts> = {},
): CertObject {
  const request = readCertObjectRequest(body as Sent);
  return desiredCertObject(before, cn, request, { ...bothTypes, ...facts });
}

export interface Refused {
  readonly reason: string;
  readonly param: string | undefined;
  readonly message: string;
}

/** @throws Error when nothing is refused */
export function refused(work: () => unknown): Refused {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return { reason: error.reason, param: error.field, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
}
