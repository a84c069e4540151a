import type { Caa } from '@certwright/dns-authority';
import { type CaaReason, quoteInput } from '@certwright/dns-names';
import { type IssuerGrant, readIssuerGrant } from './caa-value';

/** The issuing CA, and how the name was validated. */
export interface CaaQuestion {
  readonly wildcard: boolean;
  /** The CA's names in CAA records; one suffices, case-insensitive. */
  readonly issuerDomains: readonly string[];
  /** The URL of our account at the CA (RFC 8657, section 3); null: unknown, any account is accepted. */
  readonly accountUri: string | null;
  /** `dns-01`, `http-01` (RFC 8657, section 4); null: unknown, any method is accepted. */
  readonly method: string | null;
}

export type CaaVerdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly reason: CaaReason;
      /** As in a zone file, quoted. */
      readonly records: readonly string[];
    };

/** Registered at IANA; a critical property with another tag forbids issuance (RFC 8659, section 4.1). */
const knownTags: ReadonlySet<string> = new Set([
  'issue',
  'issuewild',
  'issuemail',
  'issuevmc',
  'iodef',
  'contactemail',
  'contactphone',
]);
const criticalFlag = 0x80;
/** Max records and names in a reason; a zone may have hundreds. */
const maxNamed = 3;

const allowed: CaaVerdict = { allowed: true };

/**
 * Whether a relevant record set allows the CA to issue: RFC 8659, sections 4 and 5.1, with the parameters of RFC
 * 8657.
 */
export function checkCaa(records: readonly Caa[], question: CaaQuestion): CaaVerdict {
  const critical = records.find(
    ({ flags, tag }) => (flags & criticalFlag) !== 0 && !knownTags.has(tag.toLowerCase()),
  );
  if (critical !== undefined) return unknownCritical(critical);
  const ofTag = (wanted: string) => records.filter(({ tag }) => tag.toLowerCase() === wanted);
  // With an issuewild, issue does not apply to wildcards (section 4.3).
  const wild = question.wildcard ? ofTag('issuewild') : [];
  const relevant = wild.length > 0 ? wild : ofTag('issue');
  return relevant.length === 0 ? allowed : checkGrants(relevant, question);
}

function checkGrants(relevant: readonly Caa[], question: CaaQuestion): CaaVerdict {
  const issuers = question.issuerDomains.map((name) => name.toLowerCase());
  const grants = relevant.flatMap((record) => {
    const grant = readIssuerGrant(record.value);
    return grant === null ? [] : [{ record, grant }];
  });
  const own = grants.filter(({ grant }) => issuers.includes(grant.issuerDomain));
  const faults = own.map(({ record, grant }) => faultOfParameters(record, grant, question));
  if (faults.includes(null)) return allowed;
  const [fault] = faults;
  return fault ?? noneForUs(relevant, grants, question);
}

/** Every known parameter has to match; unknown ones are ignored here (RFC 8659, section 4.2). */
function faultOfParameters(record: Caa, grant: IssuerGrant, question: CaaQuestion): CaaVerdict | null {
  const of = (wanted: string) => grant.parameters.filter(([tag]) => tag === wanted).map(([, value]) => value);
  const { accountUri, method } = question;
  const accounts = of('accounturi');
  // Two of them never match together (RFC 8657, section 3).
  if (accountUri !== null && (accounts.length > 1 || (accounts.length === 1 && accounts[0] !== accountUri))) {
    return { allowed: false, reason: { kind: 'other_account', accountUri }, records: [caaText(record)] };
  }
  const methods = of('validationmethods');
  if (method !== null && (methods.length > 1 || !methods.every((list) => list.split(',').includes(method)))) {
    return { allowed: false, reason: { kind: 'other_method', method }, records: [caaText(record)] };
  }
  return null;
}

function noneForUs(
  relevant: readonly Caa[],
  grants: readonly { readonly grant: IssuerGrant }[],
  { issuerDomains: [issuer = ''] }: CaaQuestion,
): CaaVerdict {
  const others = new Set(grants.map(({ grant }) => grant.issuerDomain).filter((name) => name !== ''));
  const allowedIssuers = [...others].slice(0, maxNamed);
  const tag = relevant[0]?.tag.toLowerCase() ?? 'issue';
  return {
    allowed: false,
    reason: { kind: 'other_issuers', tag, allowed: allowedIssuers, issuer },
    records: relevant.slice(0, maxNamed).map(caaText),
  };
}

function unknownCritical(record: Caa): CaaVerdict {
  return { allowed: false, reason: { kind: 'unknown_critical' }, records: [caaText(record)] };
}

/** As in a zone file. The zone's owner controls tag and value, so they are quoted, bounded and printable. */
export function caaText({ flags, tag, value }: Caa): string {
  const plainTag = /^[A-Za-z0-9]{1,32}$/.test(tag) ? tag : quoteInput(tag);
  return `${flags} ${plainTag} ${quoteInput(value)}`;
}
