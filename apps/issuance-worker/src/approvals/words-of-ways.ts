import { isWildcard } from '@certwright/dns-names';
import type { ApprovalMethod, ApprovalWay } from '@certwright/issuance';

const ways = {
  dns: 'By DNS record',
  http: 'By web server rule',
  email: 'By email',
} satisfies Record<ApprovalMethod, string>;

/** @param problem what was found in this way, a sentence */
export function foundBy(method: ApprovalMethod, problem: string): string {
  return `${ways[method]}: ${problem}`;
}

/**
 * Why nobody could be asked in the one way that counts for a name: whoever said it may say another.
 *
 * @param isOffered whether the product knows the way
 */
export function whyNobodyIsAsked(dnsName: string, { method }: ApprovalWay, isOffered: boolean): string {
  return foundBy(
    method,
    isOffered ? notThisName(dnsName, method) : 'the product does not know this way; name another one.',
  );
}

function notThisName(dnsName: string, method: ApprovalMethod): string {
  if (method === 'email') return 'no address is named that may approve it.';
  if (isWildcard(dnsName)) return 'a wildcard cannot be approved in this way; name another one.';
  return 'the name cannot be approved in this way; name another one.';
}
