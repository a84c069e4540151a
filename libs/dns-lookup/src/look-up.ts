import type { LookUpFailure } from '@certwright/dns-names';
import { readResponseRecords, type StoredType, type ZoneRecord } from '@certwright/dns-authority';

export type LookUpType = StoredType;

/**
 * A received record, its names in normal form: lower case, no trailing dot. Records of other types are ignored.
 */
export type ReceivedRecord = ZoneRecord;

/**
 * The result of one look-up. A NODATA with name servers (a referral) is `records` with no answers and the NS records
 * in `authority`. When the resolver followed a CNAME, its records come first in `answers`, possibly alone; `nxdomain`
 * and `nodata` then refer to the name at the chain's end.
 */
export type LookUpResult = {
  /** The queried server, `host:port`, for messages. */
  readonly from: string;
  /**
   * Queried without recursion, it responded without authority (AA, RFC 1035 section 4.1.1): a referral or cached
   * data.
   */
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
  /** Total time, ms: both attempts and TCP. */
  readonly timeoutMs?: number;
}

/** Never rejects: errors are results of kind `failure`. */
export type LookUp = (name: string, type: LookUpType, options?: LookUpOptions) => Promise<LookUpResult>;

/** Two names are equal when their normal forms are (RFC 4343). */
export function normalForm(name: string): string {
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
}

const RCODE_FAILURES: ReadonlyMap<number, LookUpFailure> = new Map([
  [1, 'formerr'],
  [2, 'servfail'],
  [4, 'notimp'],
  [5, 'refused'],
]);
export const RCODE_NXDOMAIN = 3;

/** Reads a response. The caller has checked that it belongs to the query. */
export function readResponse(response: Buffer, from: string): LookUpResult {
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
