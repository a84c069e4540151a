import { backdatingMs, wholeSeconds } from './certificate-values';

const dayMs = 24 * 60 * 60 * 1_000;

export interface Validity {
  readonly notBefore: Date;
  /** The last second of validity (RFC 5280, 4.1.2.5). */
  readonly notAfter: Date;
}

export interface ValidityRequest {
  readonly now: Date;
  readonly lifetimeDays: number;
  /** End of the paid period; null: not sold by period. */
  readonly expiresBy: Date | null;
}

/**
 * Whole seconds, since certificates have no fractions. A certificate sold by period lasts its whole lifetime from
 * now, plus the hour of backdating, so that a paid year is a full year. A reissued one ends in the same second. No
 * certificate ends after its issuer.
 *
 * @param issuerEnds last second of the intermediate's validity
 */
export function validityFrom(request: ValidityRequest, issuerEnds: Date): Validity {
  const { notBefore, notAfter } = wantedValidity(request);
  if (issuerEnds.getTime() <= request.now.getTime())
    throw new Error(
      `BUILT_IN_CA: the intermediate ended ${issuerEnds.toISOString()}. Renew it with "npm run admin -- ca renew".`,
    );
  return { notBefore, notAfter: notAfter.getTime() < issuerEnds.getTime() ? notAfter : issuerEnds };
}

function wantedValidity({ now, lifetimeDays, expiresBy }: ValidityRequest): Validity {
  const notBefore = wholeSeconds(new Date(now.getTime() - backdatingMs));
  // The last second belongs to the validity, so a lifetime of n days ends a second earlier (Baseline Requirements 1.6.1).
  if (expiresBy === null)
    return { notBefore, notAfter: new Date(notBefore.getTime() + lifetimeDays * dayMs - 1_000) };
  const wholeLifeMs = now.getTime() + lifetimeDays * dayMs;
  const notAfter = wholeSeconds(new Date(Math.min(wholeLifeMs, expiresBy.getTime())));
  // Must not happen: issuance ends before the paid period does.
  if (notAfter.getTime() <= now.getTime())
    throw new Error(`no certificate can be issued that ends ${notAfter.toISOString()}`);
  return { notBefore, notAfter };
}
