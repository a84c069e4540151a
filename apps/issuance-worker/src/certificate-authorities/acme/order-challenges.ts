import { baseName } from '@certwright/dns-names';
import type { ApprovalMethod, NameApproval } from '@certwright/issuance';
import type { AcmeChallenge as StoredChallenge } from '@certwright/core-schema';
import {
  type AccountKey,
  type ChallengeToRespond,
  type ChallengeType,
  dns01Value,
  keyAuthorization,
} from '../../acme';
import type { PublishedChallenge } from '../../challenges/challenge-publisher';
import type { NameToProve } from '../../preflight/preflight';

/** The challenge for each approval method here; null: none. */
const challengeBy = { dns: 'dns-01', http: 'http-01', email: null } as const satisfies Record<
  ApprovalMethod,
  ChallengeType | null
>;

export function challengeOf({ method }: NameApproval): 'dns-01' | 'http-01' | null {
  return method === null ? null : challengeBy[method];
}

/**
 * Splits names into those with challenge types and those that no CA can validate.
 *
 * @param granted names with a dns-persist-01 record of our account, however they were approved
 */
export function namesToProve(
  approvals: readonly NameApproval[],
  granted: ReadonlySet<string>,
): { readonly names: readonly NameToProve[]; readonly unprovable: readonly string[] } {
  const ways = approvals.map((approval) => {
    const { dnsName } = approval;
    return { dnsName, challenge: granted.has(dnsName) ? ('dns-persist-01' as const) : challengeOf(approval) };
  });
  const names = ways.flatMap(({ dnsName, challenge }) =>
    challenge === null ? [] : [{ dnsName, challenge }],
  );
  const unprovable = ways.filter(({ challenge }) => challenge === null).map(({ dnsName }) => dnsName);
  return { names, unprovable };
}

/** Owner of the order: labels are secrets of one account and name. */
export interface ChallengeOwner {
  readonly accountId: string;
  readonly delegationLabels: ReadonlyMap<string, string>;
}

type Shown = Pick<StoredChallenge, 'dnsName' | 'type' | 'token'>;

/** Values to publish for challenges. An existing dns-persist-01 record needs none. */
export function publishedFor(
  challenges: readonly Shown[],
  key: Pick<AccountKey, 'thumbprint'>,
  { accountId, delegationLabels }: ChallengeOwner,
): readonly PublishedChallenge[] {
  return challenges.flatMap(({ dnsName, type, token }): PublishedChallenge[] => {
    if (type === 'dns-persist-01') return [];
    if (type === 'http-01')
      return [{ type, accountId, dnsName, token, content: keyAuthorization(token, key) }];
    const label = delegationLabels.get(baseName(dnsName));
    if (label === undefined) throw new Error(`no delegation label is stored for ${dnsName}`);
    return [{ type, accountId, dnsName: baseName(dnsName), label, value: dns01Value(token, key) }];
  });
}

/** The stored list plus the challenges just responded to. */
export function withResponses(
  stored: readonly StoredChallenge[],
  responded: readonly (ChallengeToRespond & { readonly authorizationUrl: string })[],
  at: Date,
): readonly StoredChallenge[] {
  const urls = new Set(responded.map(({ url }) => url));
  const fresh = responded.map(({ dnsName, isWildcard, type, url, token, authorizationUrl }) => ({
    dnsName,
    wildcard: isWildcard,
    authorizationUrl,
    challengeUrl: url,
    type,
    token,
    respondedAt: at.toISOString(),
  }));
  return [...stored.filter(({ challengeUrl }) => !urls.has(challengeUrl)), ...fresh];
}

/** Derives the number of doublings of the polling interval (1 s at first) from the time since the last change. */
export function waitsSince(last: Date, now: Date): number {
  const seconds = Math.max(1, (now.getTime() - last.getTime()) / 1_000);
  return Math.floor(Math.log2(seconds));
}
