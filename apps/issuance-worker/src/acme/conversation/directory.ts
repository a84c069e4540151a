import type { UrlPolicy } from '../connection/url-policy';
import { isMembers, MemberReader } from '../members';
import { printable } from '../printable';

/** RFC 8555, section 7.1.1; `renewalInfo`: RFC 9773. Every URL has passed the policy. */
export interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  readonly revokeCert: string;
  readonly keyChange: string;
  /** Null: the CA has no renewal information and ignores `replaces`. */
  readonly renewalInfo: string | null;
  readonly externalAccountRequired: boolean;
  /** For a person to read; never fetched. */
  readonly termsOfService: string | null;
  /** Domain names of the CA in CAA records. */
  readonly caaIdentities: readonly string[];
  /** Profile names with their description; empty when the CA has none (draft-aaron-acme-profiles, section 3). */
  readonly profiles: ReadonlyMap<string, string>;
}

export type DirectoryResource = 'newNonce' | 'newAccount' | 'newOrder' | 'revokeCert' | 'keyChange';

const maxProfiles = 100;
const maxIdentities = 100;

/** @throws AcmeFault `not_acme`, `refused_url` */
export function readDirectory(value: unknown, policy: UrlPolicy): Directory {
  const reader = MemberReader.of(value, 'the directory');
  const pinned = (name: string) => policy.pinned(`The directory's ${name}`, reader.text(name));
  const meta = isMembers(reader.members['meta']) ? reader.members['meta'] : {};
  const identities = Array.isArray(meta['caaIdentities']) ? meta['caaIdentities'] : [];
  const renewalInfo = reader.optionalText('renewalInfo');
  return {
    newNonce: pinned('newNonce'),
    newAccount: pinned('newAccount'),
    newOrder: pinned('newOrder'),
    revokeCert: pinned('revokeCert'),
    keyChange: pinned('keyChange'),
    renewalInfo: renewalInfo === null ? null : policy.pinned("The directory's renewalInfo", renewalInfo),
    externalAccountRequired: meta['externalAccountRequired'] === true,
    termsOfService: typeof meta['termsOfService'] === 'string' ? printable(meta['termsOfService']) : null,
    caaIdentities: identities
      .filter((identity) => typeof identity === 'string')
      .slice(0, maxIdentities)
      .map((identity) => printable(identity, 255)),
    profiles: profilesOf(meta['profiles']),
  };
}

function profilesOf(value: unknown): ReadonlyMap<string, string> {
  const entries = isMembers(value) ? Object.entries(value).slice(0, maxProfiles) : [];
  return new Map(
    entries.map(([name, text]) => [printable(name, 100), typeof text === 'string' ? printable(text) : '']),
  );
}
