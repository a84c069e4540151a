import type { OutcomeOf } from '@certwright/issuance';
import type { PreflightQuestion } from './preflight';

/** Why product, CA or profile do not allow this many names; null: they do. */
export function tooManyNames({
  authority,
  profile,
  product,
  names,
}: PreflightQuestion): OutcomeOf<'too_many_names'> | null {
  const { maxDnsNames: ofAny, profileLimits = {} } = authority.limits;
  const ofProfile =
    profile === null ? undefined : Object.entries(profileLimits).find(([name]) => name === profile);
  const profileMax = ofProfile?.[1].maxDnsNames;
  const ca = {
    kind: 'ca',
    authority: authority.name,
    profile: profileMax === undefined ? null : profile,
  } as const;
  const ofCa = { max: profileMax ?? ofAny ?? Infinity, limitOf: ca };
  const ofProduct = {
    max: product.maxDnsNames,
    limitOf: { kind: 'product', product: product.name } as const,
  };
  const { max, limitOf } = ofProduct.max <= ofCa.max ? ofProduct : ofCa;
  return names.length <= max ? null : { code: 'too_many_names', count: names.length, max, limitOf };
}
