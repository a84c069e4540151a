import { recordsOfType } from '@certwright/dns-authority';
import { baseName } from '@certwright/dns-names';
import type { AcmeAuthorization } from '../../acme';
import { sideBySide } from '../../approvals/side-by-side';
import type { LookUp } from '../../dns-lookup/answer';

/** A standing record that lets one account at one CA issue, again and again (draft-ietf-acme-dns-persist). */
export interface PersistentGrant {
  readonly issuer: string;
  readonly accountUri: string;
  /** Also for wildcards and what lies below the name. */
  readonly wildcard: boolean;
  /** Null: for good. */
  readonly until: Date | null;
}

/** @returns null for text that is no such record */
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

/** For one look, ms. */
const lookMs = 3_000;
const looksAtOnce = 16;

/** Which names have their dns-persist-01 record in place, for this account at this CA. */
export class PersistentRecords {
  constructor(
    private readonly lookUp: LookUp,
    private readonly now: () => Date = () => new Date(),
  ) {}

  /** Of those that the CA offers it for, and waits for. @returns names, wildcards with `*.` */
  async standing(
    authorizations: readonly AcmeAuthorization[],
    accountUri: string,
  ): Promise<ReadonlySet<string>> {
    const standing = new Set<string>();
    await sideBySide(looksAtOnce, authorizations, async ({ dnsName, isWildcard, challenges, status }) => {
      const offered = challenges.find(({ type }) => type === 'dns-persist-01');
      if (status !== 'pending' || offered === undefined) return;
      const name = isWildcard ? `*.${dnsName}` : dnsName;
      if (await this.stands(name, accountUri, offered.issuerDomainNames)) standing.add(name);
    });
    return standing;
  }

  /**
   * Before an order tells what the CA offers.
   *
   * @param dnsNames wildcards with `*.`
   * @param issuers the CA's names, as in CAA records; none: they are not known, and any will do
   */
  async granted(
    dnsNames: readonly string[],
    accountUri: string,
    issuers: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const granted = new Set<string>();
    await sideBySide(looksAtOnce, dnsNames, async (name) => {
      if (await this.stands(name, accountUri, issuers.length === 0 ? null : issuers)) granted.add(name);
    });
    return granted;
  }

  private async stands(
    name: string,
    accountUri: string,
    issuers: readonly string[] | null,
  ): Promise<boolean> {
    const isWildcard = name.startsWith('*.');
    const ours = issuers?.map((issuer) => issuer.toLowerCase().replace(/\.$/, ''));
    return (await this.grantsAt(baseName(name))).some((grant) => {
      const inTime = grant.until === null || grant.until > this.now();
      const covers = !isWildcard || grant.wildcard;
      return (
        inTime &&
        covers &&
        grant.accountUri === accountUri &&
        (ours === undefined || ours.includes(grant.issuer))
      );
    });
  }

  private async grantsAt(dnsName: string): Promise<readonly PersistentGrant[]> {
    const answer = await this.lookUp(`_validation-persist.${dnsName}`, 'TXT', { timeoutMs: lookMs });
    if (answer.kind !== 'records') return [];
    return recordsOfType(answer.answers, 'TXT').flatMap(({ data }) => {
      const grant = readGrant(Buffer.concat(data).toString('latin1'));
      return grant === null ? [] : [grant];
    });
  }
}
