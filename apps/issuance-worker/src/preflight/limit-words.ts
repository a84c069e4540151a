import type { CaLimit, CaLimits } from '@certwright/core-schema';
import type { CaLimitKind, CaLimitTaken } from '../ca-limits/ca-limit-buckets';

const units = [
  { name: 'day', seconds: 86_400 },
  { name: 'hour', seconds: 3_600 },
  { name: 'minute', seconds: 60 },
  { name: 'second', seconds: 1 },
] as const;

const whatIsCounted = {
  newOrders: () => ({ what: 'new orders', of: 'of this service' }),
  perRegisteredDomain: (key) => ({ what: 'certificates per registered domain', of: `for ${key}` }),
  perNameSet: () => ({ what: 'certificates per exact set of names', of: 'for exactly these names' }),
  failedAuthorizations: (key) => ({ what: 'failed authorizations per name', of: `for ${key}` }),
} satisfies Record<CaLimitKind, (key: string) => { readonly what: string; readonly of: string }>;

/** Which limit, since what, until when; for the caller. */
export function limitReached(
  authority: { readonly name: string; readonly limits: CaLimits },
  reached: Extract<CaLimitTaken, { readonly taken: false }>,
): string {
  const { kind, key, keptForOthers, until } = reached;
  const { what, of } = whatIsCounted[kind](key);
  const limit = authority.limits[kind];
  const size = limit === undefined ? '' : ` (${limit.count} ${what} in ${durationOf(limit)})`;
  const why = keptForOthers
    ? `what is left of its limit${size} is kept for accounts that ordered less lately`
    : `its limit${size} is reached`;
  return (
    `The certificate authority ${authority.name} takes no more orders ${of} for now: ${why}. ` +
    `It is asked after ${until.toISOString()}, by itself.`
  );
}

function durationOf({ perS }: CaLimit): string {
  const { name, seconds } =
    units.find((unit) => perS % unit.seconds === 0 && perS >= unit.seconds) ?? units[3];
  const count = perS / seconds;
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}
