import { recordsOfType } from '@certwright/dns-authority';
import { baseName } from '@certwright/dns-names';
import type { AcmeAuthorization } from '../../acme';
import { sideBySide } from '../../approvals/side-by-side';
import type { LookUp } from '@certwright/dns-lookup';

/** A persistent record that authorizes one account at one CA (draft-ietf-acme-dns-persist). */
export interface PersistentGrant {
  readonly issuer: string;
  readonly accountUri: string;
  /** Also covers wildcards and subdomains. */
  readonly wildcard: boolean;
  /** Null: no expiry. */
  readonly until: Date | null;
}

/** @returns null for any other text */
export function readGrant(text: string): PersistentGrant | null {
  const [issuer = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest.filter((each) => each !== '')) {
    const [, tag = '', value = ''] = /^([A-Za-z0-9]+)=([\x21-\x3a\x3c-\x7e]*)$/.exec(part) ?? [];
    if (tag === '' || parameters.has(tag.toLowerCase())) return null;
    parameters.set(tag.toLowerCase(), value);
  }
  const accountUri = parameters.get('accounturi');
  const seconds = parameters.get('persistuntil');
  const isBroken = seconds !== undefined && !/^\d{1,12}$/.test(seconds);
  if (accountUri === undefined || issuer === '' || isBroken) return null;
  const wildcard = parameters.get('policy')?.toLowerCase() === 'wildcard';
  const until = seconds === undefined ? null : new Date(Number(seconds) * 1_000);
  return { issuer: issuer.toLowerCase().replace(/\.$/, ''), accountUri, wildcard, until };
}

/** Timeout of one lookup, ms. */
const lookMs = 3_000;
/** Timeout of all lookups of an order, ms: less than its lease is held for. A name without a result has no record. */
const allLooksMs = 8_000;
const looksAtOnce = 16;

/** Finds names with a dns-persist-01 record for this account at this CA. */
export class PersistentRecords {
  constructor(private readonly lookUp: LookUp) {}

  /** Checks the names with a pending dns-persist-01 challenge. @returns names, wildcards with `*.` */
  async standing(
    authorizations: readonly AcmeAuthorization[],
    accountUri: string,
  ): Promise<ReadonlySet<string>> {
    const standing = new Set<string>();
    const signal = AbortSignal.timeout(allLooksMs);
    await sideBySide(looksAtOnce, authorizations, async ({ dnsName, isWildcard, challenges, status }) => {
      const offered = challenges.find(({ type }) => type === 'dns-persist-01');
      if (status !== 'pending' || offered === undefined) return;
      const name = isWildcard ? `*.${dnsName}` : dnsName;
      if (await this.hasGrant(name, accountUri, offered.issuerDomainNames, signal)) standing.add(name);
    });
    return standing;
  }

  /**
   * For use before an order shows the CA's challenges.
   *
   * @param dnsNames wildcards with `*.`
   * @param issuers the CA's names in CAA records; empty: unknown, and any name matches
   */
  async granted(
    dnsNames: readonly string[],
    accountUri: string,
    issuers: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const granted = new Set<string>();
    const signal = AbortSignal.timeout(allLooksMs);
    const ofCa = issuers.length === 0 ? null : issuers;
    await sideBySide(looksAtOnce, dnsNames, async (name) => {
      if (await this.hasGrant(name, accountUri, ofCa, signal)) granted.add(name);
    });
    return granted;
  }

  private async hasGrant(
    name: string,
    accountUri: string,
    issuers: readonly string[] | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isWildcard = name.startsWith('*.');
    const ours = issuers?.map((issuer) => issuer.toLowerCase().replace(/\.$/, ''));
    return (await this.grantsAt(baseName(name), signal)).some((grant) => {
      const inTime = grant.until === null || grant.until > new Date();
      const covers = !isWildcard || grant.wildcard;
      return (
        inTime &&
        covers &&
        grant.accountUri === accountUri &&
        (ours === undefined || ours.includes(grant.issuer))
      );
    });
  }

  private async grantsAt(dnsName: string, signal: AbortSignal): Promise<readonly PersistentGrant[]> {
    const answer = await this.lookUp(`_validation-persist.${dnsName}`, 'TXT', { timeoutMs: lookMs, signal });
    if (answer.kind !== 'records') return [];
    return recordsOfType(answer.answers, 'TXT').flatMap(({ data }) => {
      const grant = readGrant(Buffer.concat(data).toString('latin1'));
      return grant === null ? [] : [grant];
    });
  }
}
