import type { Certificate } from './certificate';
import { covers, type Paid, runningTerm } from './purchase';
import { billableNames } from './purchase-names';
import type { Terms } from './terms';

/** Terms as they are looked at when a certificate is replaced. */
export type OfferedTerms = Pick<Terms, 'id' | 'product' | 'dnsNames'>;

export interface PresentTerms extends OfferedTerms {
  /** Days that one purchase of the product covers; null: it is not sold by time. */
  readonly termDays: number | null;
  readonly isAvailable: boolean;
}

/** From what a plan's certificate can be replaced, and what is paid of it. */
export interface RenewalTerms {
  /** Null while there is nothing to issue from: the CSR is missing. */
  readonly present: PresentTerms | null;
  /** Those of the certificate itself; null: it was issued elsewhere. */
  readonly own: OfferedTerms | null;
  readonly paid: Paid | null;
}

export interface CoveredReplacement {
  readonly termsId: string;
  /** The replacement is not to be valid longer; null: nothing is sold by time. */
  readonly expiresBy: Date | null;
}

/**
 * A replacement that the running term pays for: of the present terms where they are covered; what was changed beyond that
 * waits for its purchase, and the certificate's own terms, which were paid once, are issued again.
 */
export function coveredReplacement(
  { present, own, paid }: Pick<RenewalTerms, 'own' | 'paid'> & { readonly present: OfferedTerms | null },
  now: Date,
): CoveredReplacement | null {
  const running = present === null ? null : runningTerm(paid, present.product, now);
  if (present !== null && running !== null && covers(running, billableNames(present.dnsNames)))
    return { termsId: present.id, expiresBy: running.through };
  const ofItsOwn = own === null ? null : runningTerm(paid, own.product, now);
  return own === null || ofItsOwn === null ? null : { termsId: own.id, expiresBy: ofItsOwn.through };
}

/**
 * What takes the place of a revoked certificate, without charge: the present terms where nothing is sold by time or the
 * running term covers them, else the certificate's own, and never for longer than is paid or than it was to last.
 */
export function replacementOfRevoked(
  terms: RenewalTerms & { readonly present: PresentTerms },
  { notAfter }: Pick<Certificate, 'notAfter'>,
  now: Date,
): CoveredReplacement | null {
  const { present, own } = terms;
  if (present.termDays === null) return { termsId: present.id, expiresBy: null };
  return coveredReplacement(terms, now) ?? (own === null ? null : { termsId: own.id, expiresBy: notAfter });
}

const dayMs = 86_400_000;

/** A certificate that ends so much before the term is not the last one of it. */
const lastEndsWithinMs = dayMs;

/** What says whether a certificate belongs to a term. */
export interface TermOfCertificate {
  /** Null: it was issued elsewhere. */
  readonly own: Pick<OfferedTerms, 'product'> | null;
  readonly paid: Pick<Paid, 'through' | 'product'> | null;
}

/** Whether a certificate ends so long before what is paid that another one belongs to the term. */
export function endsWithinTerm(
  { notAfter }: Pick<Certificate, 'notAfter'>,
  { own, paid }: TermOfCertificate,
): boolean {
  if (paid === null || (own !== null && own.product !== paid.product)) return false;
  return paid.through.getTime() - notAfter.getTime() > lastEndsWithinMs;
}
