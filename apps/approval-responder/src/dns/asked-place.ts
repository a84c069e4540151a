import { type DnsName, isAtOrBelow, parseName } from '@certwright/dns-authority';

/** What a name is to this server, as far as the name alone tells. */
export type AskedPlace =
  /** The apex, a name server, or what lies between. */
  | { readonly kind: 'fixed' }
  /** Inside the zone, and such as no label was ever given out: it does not exist. */
  | { readonly kind: 'missing' }
  /** `<label>.<zone>`, where standing CNAME records lead. */
  | { readonly kind: 'target'; readonly label: string }
  /** At or below `_acme-challenge.<dnsName>`, which the customer may have delegated to us (NS). */
  | { readonly kind: 'delegated'; readonly apex: DnsName; readonly dnsName: string }
  | { readonly kind: 'foreign' };

const challengeLabel = '_acme-challenge';

/** Base32 of 128 to 256 bits and a little, lower case. What looks otherwise was never given out. */
const labelShape = /^[a-z2-7]{26,52}$/;

/**
 * @param zone its apex
 * @param fixed names that the zone holds by its settings, the apex among them
 */
export function placeAsked(name: DnsName, zone: DnsName, fixed: ReadonlySet<DnsName>): AskedPlace {
  if (fixed.has(name)) return { kind: 'fixed' };
  if (isAtOrBelow(name, zone)) {
    const label = name.slice(0, -zone.length - 1);
    return labelShape.test(label) ? { kind: 'target', label } : { kind: 'missing' };
  }
  return delegated(name) ?? { kind: 'foreign' };
}

/** A name that certificates are for has no underscore, so the last such label is the one that was delegated. */
function delegated(name: DnsName): AskedPlace | undefined {
  const labels = name.split('.');
  const at = labels.lastIndexOf(challengeLabel);
  if (at === -1) return undefined;
  const dnsName = labels.slice(at + 1).join('.');
  const isName = dnsName.includes('.') && !dnsName.includes('_') && parseName(dnsName) === dnsName;
  return isName ? { kind: 'delegated', apex: `${challengeLabel}.${dnsName}`, dnsName } : undefined;
}
