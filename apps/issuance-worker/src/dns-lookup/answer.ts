import type { LookUpFailure } from '@certwright/issuance';
import { readResponseRecords, type StoredType, type ZoneRecord } from '@certwright/dns-authority';

export type LookUpType = StoredType;

/**
 * A record as it was received, its names in normal form: lower case, no trailing dot. Records of other types are left
 * out.
 */
export type ReceivedRecord = ZoneRecord;

/**
 * What one look-up came to. A NODATA that came with name servers (a referral) is `records` with no answers and the NS
 * records in `authority`. Where a CNAME was followed by the resolver, its records come first in `answers`, possibly
 * alone; `nxdomain` and `nodata` then speak of the name at the chain's end.
 */
export type Answer = {
  /** Who was asked, `host:port`, for messages. */
  readonly from: string;
  /** Asked without recursion, it answered without authority (AA, RFC 1035 section 4.1.1): a referral, or hearsay. */
  readonly notAuthoritative?: true;
} & (
  | {
      readonly kind: 'records';
      readonly answers: readonly ReceivedRecord[];
      readonly authority: readonly ReceivedRecord[];
    }
  | { readonly kind: 'nxdomain' }
  | { readonly kind: 'nodata' }
  | { readonly kind: 'failure'; readonly reason: LookUpFailure }
);

export interface LookUpOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds for everything: both attempts and TCP. */
  readonly timeoutMs?: number;
}

/** Never rejects: what goes wrong is an answer of kind `failure`. */
export type LookUp = (name: string, type: LookUpType, options?: LookUpOptions) => Promise<Answer>;

/** Two names are the same when their normal forms are (RFC 4343). */
export function normalForm(name: string): string {
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
}

const RCODE_FAILURES: ReadonlyMap<number, LookUpFailure> = new Map([
  [1, 'formerr'],
  [2, 'servfail'],
  [4, 'notimp'],
  [5, 'refused'],
]);
const RCODE_NXDOMAIN = 3;

/** What a response says. The caller has checked that it answers the question. */
export function readResponse(response: Buffer, from: string): Answer {
  const rcode = response.readUInt16BE(2) & 0xf;
  if (rcode !== 0 && rcode !== RCODE_NXDOMAIN) {
    return { from, kind: 'failure', reason: RCODE_FAILURES.get(rcode) ?? 'other_rcode' };
  }
  try {
    const { answers, authority } = readResponseRecords(response);
    if (rcode === RCODE_NXDOMAIN) return { from, kind: 'nxdomain' };
    const saysSomething = answers.length > 0 || authority.some(({ type }) => type === 'NS');
    return saysSomething ? { from, kind: 'records', answers, authority } : { from, kind: 'nodata' };
  } catch {
    return { from, kind: 'failure', reason: 'malformed' };
  }
}
