import { AcmeFault } from '../acme-fault';
import { type AcmeProblem, readProblem } from '../acme-problem';
import type { UrlPolicy } from '../connection/url-policy';
import { isMembers, MemberReader } from '../members';
import { printable } from '../printable';

const authorizationStatuses = ['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'] as const;
const challengeStatuses = ['pending', 'processing', 'valid', 'invalid'] as const;

const challengeTypes = ['dns-01', 'http-01', 'dns-persist-01'] as const;

/** Supported ways to prove control. */
export type ChallengeType = (typeof challengeTypes)[number];

/** RFC 8555, section 8. */
export interface AcmeChallenge {
  readonly url: string;
  /** `dns-01`, `http-01`, or an unknown type. */
  readonly type: string;
  readonly status: (typeof challengeStatuses)[number];
  /** Null if the type has none. */
  readonly token: string | null;
  /** Issuer domain names accepted in a dns-persist-01 record; empty for other types. */
  readonly issuerDomainNames: readonly string[];
  /** The error of a failed challenge, or of an attempt that the CA retries. */
  readonly problem: AcmeProblem | null;
}

/** RFC 8555, section 7.1.4. */
export interface AcmeAuthorization {
  readonly url: string;
  /** Without `*.`, in lower case. */
  readonly dnsName: string;
  /** Whether it is for `*.` before the name (section 7.1.3). */
  readonly isWildcard: boolean;
  readonly status: (typeof authorizationStatuses)[number];
  readonly expires: Date | null;
  readonly challenges: readonly AcmeChallenge[];
  readonly retryAt: Date | null;
}

const maxChallenges = 20;

/** Section 8.1: base64url, of at least 128 bits; it becomes part of a path and of a hashed text. */
const wellFormedToken = /^[A-Za-z0-9_-]{22,256}$/;

/** @throws AcmeFault `not_acme`, `refused_url` */
export function readAuthorization(
  value: unknown,
  url: string,
  policy: UrlPolicy,
  retryAt: Date | null,
): AcmeAuthorization {
  const reader = MemberReader.of(value, 'the authorization');
  const name = reader.dnsName(reader.members['identifier'], 'the identifier');
  return {
    url,
    dnsName: name.replace(/^\*\./, ''),
    isWildcard: reader.boolean('wildcard') || name.startsWith('*.'),
    status: reader.oneOf('status', authorizationStatuses),
    expires: reader.optionalTime('expires'),
    challenges: reader
      .list('challenges', maxChallenges)
      .flatMap((entry) => knownChallenge(entry, policy) ?? []),
    retryAt,
  };
}

/**
 * @returns null for an unknown type with members of another form: each type defines its own (section 8)
 * @throws AcmeFault `not_acme`, `refused_url`
 */
function knownChallenge(value: unknown, policy: UrlPolicy): AcmeChallenge | null {
  try {
    return readChallenge(value, policy);
  } catch (error) {
    const isKnown = isMembers(value) && challengeTypes.some((type) => type === value['type']);
    if (isKnown || !(error instanceof AcmeFault)) throw error;
    return null;
  }
}

/** @throws AcmeFault `not_acme`, `refused_url` */
export function readChallenge(value: unknown, policy: UrlPolicy): AcmeChallenge {
  const reader = MemberReader.of(value, 'the challenge');
  const token = reader.optionalText('token', 256);
  if (token !== null && !wellFormedToken.test(token)) reader.refuse('token');
  const issuers = reader.members['issuer-domain-names'];
  return {
    url: policy.pinned('The challenge', reader.text('url')),
    type: printable(reader.text('type', 64)),
    status: reader.oneOf('status', challengeStatuses),
    token,
    issuerDomainNames: (Array.isArray(issuers) ? issuers : [])
      .filter((issuer) => typeof issuer === 'string')
      .slice(0, maxChallenges)
      .map((issuer) => printable(issuer, 255)),
    problem: readProblem(reader.members['error'], null),
  };
}
