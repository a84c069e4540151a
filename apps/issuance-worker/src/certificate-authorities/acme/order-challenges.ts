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

/** How a CA is shown what a name was approved by here; nothing: not at all. */
const challengeBy = { dns: 'dns-01', http: 'http-01', email: null } as const satisfies Record<
  ApprovalMethod,
  ChallengeType | null
>;

export function challengeOf({ method }: NameApproval): 'dns-01' | 'http-01' | null {
  return method === null ? null : challengeBy[method];
}

/**
 * Names with what will prove them, and those for which there is nothing that a CA would look at.
 *
 * @param granted names that a standing record of our account proves, whatever they were approved by
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

/** Whose order it is: labels are secrets of one account and name. */
export interface ChallengeOwner {
  readonly accountId: string;
  readonly delegationLabels: ReadonlyMap<string, string>;
}

type Shown = Pick<StoredChallenge, 'dnsName' | 'type' | 'token'>;

/** What has to be published for challenges. A standing dns-persist-01 record needs nothing. */
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

/** The stored list with challenges that were just responded to. */
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

/** Looks at an order grow rarer with the time since something was done last: 1 s, then as long as it has been, evenly doubling. */
export function waitsSince(last: Date, now: Date): number {
  const seconds = Math.max(1, (now.getTime() - last.getTime()) / 1_000);
  return Math.floor(Math.log2(seconds));
}
