import type { Certificate } from '@certwright/pki';
import { MemberReader } from '../members';
import { notAcme } from '../acme-fault';

/** RFC 9773, section 4.2. */
export interface RenewalInfo {
  /** Renew at a random time in it; at once if all of it has passed. */
  readonly window: { readonly start: Date; readonly end: Date };
  /** A page for a person that explains the window; never fetched. */
  readonly explanationUrl: string | null;
  /** When to poll again. */
  readonly retryAt: Date;
}

const minuteMs = 60 * 1_000;
const hourMs = 60 * minuteMs;

/** RFC 9773, section 4.3: shorter intervals count as one minute, longer ones as one day. */
const pollingMs = { soonest: minuteMs, latest: 24 * hourMs };
/** Section 4.3.3: when the server sends no usable interval. */
const defaultPollingMs = 6 * hourMs;

/**
 * The certificate's name at its CA (section 4.1): base64url of the authority key identifier, a dot, base64url of the
 * serial number's DER content, which keeps the leading zero byte of a number whose first bit is set.
 *
 * @returns null for a certificate without the extension, or with a serial number that no CA issues
 */
export function renewalIdOf({
  authorityKeyId,
  serialNumber,
}: Pick<Certificate, 'authorityKeyId' | 'serialNumber'>): string | null {
  if (authorityKeyId === undefined || serialNumber.startsWith('-')) return null;
  const serial = Buffer.from(serialNumber, 'hex');
  const content = ((serial[0] ?? 0) & 0x80) === 0 ? serial : Buffer.concat([Buffer.of(0), serial]);
  return `${Buffer.from(authorityKeyId, 'hex').toString('base64url')}.${content.toString('base64url')}`;
}

/** @throws AcmeFault `not_acme`, with the time to poll again */
export function readRenewalInfo(value: unknown, saidRetryAt: Date | null, now: Date): RenewalInfo {
  const retryAt = renewalInfoRetryAt(saidRetryAt, now);
  const reader = MemberReader.of(value, 'the renewal information');
  const window = MemberReader.of(reader.members['suggestedWindow'], 'the renewal window');
  const start = window.optionalTime('start') ?? window.refuse('start');
  const end = window.optionalTime('end') ?? window.refuse('end');
  // Section 4.2: an empty window is a server error.
  if (end <= start) throw notAcme("The ACME server's renewal window ends before it starts.", { retryAt });
  return { window: { start, end }, explanationUrl: pageOf(reader.optionalText('explanationURL')), retryAt };
}

function renewalInfoRetryAt(said: Date | null, now: Date): Date {
  const requestedMs = said === null ? defaultPollingMs : said.getTime() - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(requestedMs, pollingMs.soonest), pollingMs.latest));
}

/** Shown to a person, possibly as a link. */
function pageOf(text: string | null): string | null {
  if (text === null || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
}
