import { type DnsName, isAtOrBelow, parseName } from '@certwright/dns-authority';

/** Classification of a name, by the name alone. */
export type QueriedName =
  /** The apex, a name server, or a name between them. */
  | { readonly kind: 'fixed' }
  /** Inside the zone, but not in the form of an issued label: it does not exist. */
  | { readonly kind: 'missing' }
  /** `<label>.<zone>`, the target of standing CNAME records. */
  | { readonly kind: 'target'; readonly label: string }
  /** At or below `_acme-challenge.<dnsName>`, which the customer may have delegated to us (NS). */
  | { readonly kind: 'delegated'; readonly apex: DnsName; readonly dnsName: string }
  | { readonly kind: 'foreign' };

const challengeLabel = '_acme-challenge';

/** Base32 of 128 to slightly over 256 bits, lower case. Any other form was never issued. */
const labelShape = /^[a-z2-7]{26,52}$/;

/**
 * @param zone its apex
 * @param fixed names in the zone by settings, including the apex
 */
export function classifyName(name: DnsName, zone: DnsName, fixed: ReadonlySet<DnsName>): QueriedName {
  if (fixed.has(name)) return { kind: 'fixed' };
  if (isAtOrBelow(name, zone)) {
    const label = name.slice(0, -zone.length - 1);
    return labelShape.test(label) ? { kind: 'target', label } : { kind: 'missing' };
  }
  return delegated(name) ?? { kind: 'foreign' };
}

/** Names in certificates have no underscore, so the last such label is the delegated one. */
function delegated(name: DnsName): QueriedName | undefined {
  const labels = name.split('.');
  const at = labels.lastIndexOf(challengeLabel);
  if (at === -1) return undefined;
  const dnsName = labels.slice(at + 1).join('.');
  const isName = dnsName.includes('.') && !dnsName.includes('_') && parseName(dnsName) === dnsName;
  return isName ? { kind: 'delegated', apex: `${challengeLabel}.${dnsName}`, dnsName } : undefined;
}
