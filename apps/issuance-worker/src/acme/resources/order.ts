import { type AcmeProblem, readProblem } from '../acme-problem';
import { notAcme } from '../acme-fault';
import type { UrlPolicy } from '../connection/url-policy';
import { MemberReader } from '../members';

const orderStatuses = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const;

/** RFC 8555, section 7.1.3. URLs have passed the policy; names are in lower case. */
export type AcmeOrder = OrderMembers & (ValidOrder | OtherOrder);

interface ValidOrder {
  readonly status: 'valid';
  readonly certificateUrl: string;
}

interface OtherOrder {
  readonly status: Exclude<(typeof orderStatuses)[number], 'valid'>;
  readonly certificateUrl: null;
}

interface OrderMembers {
  /** Resumes the order in any state; stored before finalize. */
  readonly url: string;
  /** With their `*.`. */
  readonly dnsNames: readonly string[];
  readonly expires: Date | null;
  readonly authorizationUrls: readonly string[];
  readonly finalizeUrl: string;
  /** Why the order is invalid, if the CA reports it. */
  readonly problem: AcmeProblem | null;
  /** As the CA chose it; null when it has no profiles. */
  readonly profile: string | null;
  /** Time from Retry-After; null without it. */
  readonly retryAt: Date | null;
}

/** Our certificates have at most 100 names, and an order needs at most one authorization for each. */
const maxNames = 200;

/** @throws AcmeFault `not_acme`, `refused_url` */
export function readOrder(value: unknown, url: string, policy: UrlPolicy, retryAt: Date | null): AcmeOrder {
  const reader = MemberReader.of(value, 'the order');
  const pinned = (what: string, target: string) => policy.pinned(`The order's ${what}`, target);
  const status = reader.oneOf('status', orderStatuses);
  return {
    ...(status === 'valid'
      ? { status, certificateUrl: pinned('certificate', reader.text('certificate')) }
      : { status, certificateUrl: null }),
    url,
    dnsNames: reader.list('identifiers', maxNames).map((entry) => reader.dnsName(entry, 'an identifier')),
    expires: reader.optionalTime('expires'),
    authorizationUrls: reader
      .list('authorizations', maxNames)
      .map((entry) => pinned('authorization', typeof entry === 'string' ? entry : '')),
    finalizeUrl: pinned('finalize', reader.text('finalize')),
    problem: readProblem(reader.members['error'], null),
    profile: reader.optionalText('profile', 100),
    retryAt,
  };
}

/** @throws AcmeFault `not_acme` when the order has other names than requested */
export function assertNames(order: AcmeOrder, requested: readonly string[]): AcmeOrder {
  const text = (names: readonly string[]) =>
    [...new Set(names.map((name) => name.toLowerCase()))].sort().join(' ');
  if (text(order.dnsNames) !== text(requested))
    throw notAcme('The ACME server opened an order for other names than requested.');
  return order;
}
