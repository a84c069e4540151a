import type { Certificate } from './certificate';
import { covers, type Paid, runningTerm } from './purchase';
import { billableNames } from './purchase-names';
import type { Terms } from './terms';

/** The properties of terms that matter for replacing a certificate. */
export type OfferedTerms = Pick<Terms, 'id' | 'product' | 'dnsNames'>;

export interface PresentTerms extends OfferedTerms {
  /** Days that one purchase of the product covers; null: it is not sold by time. */
  readonly termDays: number | null;
  /** False: no term is bought, because nothing can be issued at present or the account is disabled. */
  readonly isAvailable: boolean;
}

/** The terms that can replace a plan's certificate, and the paid term. */
export interface RenewalTerms {
  /** Null while the CSR is missing: nothing can be issued. */
  readonly present: PresentTerms | null;
  /** The certificate's own terms; null: it was issued elsewhere. */
  readonly own: OfferedTerms | null;
  readonly paid: Paid | null;
}

export interface CoveredReplacement {
  readonly termsId: string;
  /** Latest end of the replacement's validity; null: not sold by time. */
  readonly expiresBy: Date | null;
}

/**
 * A replacement paid by the running term. It uses the current terms if they are covered. Otherwise changes wait for
 * their purchase, and the certificate's own terms, which are already paid, are issued again.
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
 * The free replacement of a revoked certificate. It uses the current terms if they are not sold by time or the
 * running term covers them, else the certificate's own. It never lasts longer than the paid time or the revoked
 * certificate.
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

/** Decides whether a certificate belongs to a term. */
export interface TermOfCertificate {
  /** Null: it was issued elsewhere. */
  readonly own: Pick<OfferedTerms, 'product'> | null;
  readonly paid: Pick<Paid, 'through' | 'product'> | null;
}

/** Whether a certificate ends so long before the paid time that another one belongs to the term. */
export function endsWithinTerm(
  { notAfter }: Pick<Certificate, 'notAfter'>,
  { own, paid }: TermOfCertificate,
): boolean {
  if (paid === null || (own !== null && own.product !== paid.product)) return false;
  return paid.through.getTime() - notAfter.getTime() > lastEndsWithinMs;
}
