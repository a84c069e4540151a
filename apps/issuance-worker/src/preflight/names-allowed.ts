import type { PreflightQuestion } from './preflight';

/** What product and profile do not take of the names, in words; null: they take them. */
export function faultOfNames({ authority, profile, product, names }: PreflightQuestion): string | null {
  const { maxDnsNames: ofAny, profileLimits = {} } = authority.limits;
  const ofProfile =
    profile === null ? undefined : Object.entries(profileLimits).find(([name]) => name === profile);
  const who = `the certificate authority ${authority.name}`;
  const limits = [
    { most: product.maxDnsNames, by: `the product ${product.name}` },
    ofProfile?.[1].maxDnsNames === undefined
      ? { most: ofAny ?? Infinity, by: who }
      : { most: ofProfile[1].maxDnsNames, by: `${who} under its profile ${profile}` },
  ];
  const [narrowest] = limits.sort((one, other) => one.most - other.most);
  if (narrowest === undefined || names.length <= narrowest.most) return null;
  return (
    `There are ${names.length} names, but ${narrowest.by} takes at most ${narrowest.most} in a certificate. ` +
    'Remove names, or divide them among several certificates.'
  );
}
