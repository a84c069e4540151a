import { type Crl, sameName } from '@certwright/ct';

/** Baseline Requirements, section 4.9.7: the next list is due within ten days, whether the list says so or not. ms */
const usualValidityMs = 10 * 86_400_000;

/** PostgreSQL accepts later times, and RFC 3339 does not. ms */
const latestMs = Date.UTC(9999, 11, 31);

/** Max difference by which the clock of a CA may be ahead, ms. */
const clockSkewMs = 3_600_000;

export interface CheckedCrl {
  readonly ok: true;
  readonly freshUntilMs: number;
  /** Whether a certificate in the list's scope that is not on the list is good. */
  readonly covers: boolean;
}

export type CrlVerdict = CheckedCrl | { readonly ok: false; readonly problem: string };

/**
 * Checks that a list is the requested one. Signatures are verified elsewhere.
 *
 * @param url of the request, before redirects
 * @param nameDer of the issuer
 * @param graceMs how long a list is accepted after its next update
 */
export function checkCrl(
  crl: Crl,
  { url, nameDer }: { readonly url: string; readonly nameDer: Buffer },
  graceMs: number,
  nowMs: number,
): CrlVerdict {
  const { thisUpdate, nextUpdate, places } = crl;
  if (!sameName(crl.issuerDer, nameDer)) return problem('The list has another issuer.');
  if (crl.isDelta) return problem('The list is a delta CRL.');
  if (thisUpdate > nowMs + clockSkewMs) return problem('The list is dated in the future.');
  const freshUntilMs = Math.min(latestMs, (nextUpdate ?? thisUpdate + usualValidityMs) + graceMs);
  if (freshUntilMs <= nowMs) return problem('The list is past its next update.');
  // An attacker who could substitute another of the issuer's lists would make its certificates good.
  if (places !== null && !places.some((place) => samePlace(place, url)))
    return problem('The list is for another URL.');
  const { hasUserCertificates, hasAllReasons, hasUnknownCritical } = crl;
  return { ok: true, freshUntilMs, covers: hasUserCertificates && hasAllReasons && !hasUnknownCritical };
}

/** The same host and path, by http or https. */
function samePlace(one: string, other: string): boolean {
  if (one === other) return true;
  if (!URL.canParse(one) || !URL.canParse(other)) return false;
  const [a, b] = [new URL(one), new URL(other)];
  return /^https?:$/.test(a.protocol) && a.host === b.host && a.pathname + a.search === b.pathname + b.search;
}

function problem(text: string): CrlVerdict {
  return { ok: false, problem: text };
}
