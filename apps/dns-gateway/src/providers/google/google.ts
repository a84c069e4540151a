import { keptMember, type MemberRule } from '../credential-members';
import type { DnsProvider } from '../dns-provider';
import type { OauthClientSettings } from '../operator';
import { rrsetChanges } from '../records/rrset-changes';
import { tokenProvider } from '../token-provider';
import { GoogleClient, reading } from './google-client';

export interface GoogleOptions {
  /** Default: https://dns.googleapis.com */
  readonly baseUrl?: string;
  /** Token endpoint. Default: https://oauth2.googleapis.com */
  readonly oauthUrl?: string;
  /** Null: the provider is unavailable. */
  readonly oauth: OauthClientSettings | null;
}

const advice =
  'Authorize with an account of its own that has the role "DNS Administrator" on the managed zones that certificates are ' +
  'for (IAM can grant it on a single zone) and "DNS Reader" on the project, so that zones can be listed. ' +
  'Do not authorize with an owner or editor of the project. Access can be withdrawn at myaccount.google.com/permissions.';

const projectRule: MemberRule = {
  name: 'project',
  meaning: 'the id of the project that the zones are in',
  secret: false,
  required: true,
  // https://docs.cloud.google.com/resource-manager/docs/creating-managing-projects; old ids have a domain prefix.
  shape: /^([a-z0-9.-]{1,100}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/,
  shapeDescription: 'the id of a project, such as my-project-123456',
};

/** https://docs.cloud.google.com/dns/docs/reference/rest/v1 */
export function googleProvider(options: GoogleOptions): DnsProvider {
  const { oauthUrl = 'https://oauth2.googleapis.com', oauth: client } = options;
  return tokenProvider({
    name: 'google',
    title: 'Google Cloud DNS',
    advice,
    baseUrl: options.baseUrl ?? 'https://dns.googleapis.com',
    token: null,
    oauth: {
      client,
      tokenUrl: `${oauthUrl}/token`,
      clientAuthentication: 'form',
      authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
      scope: 'https://www.googleapis.com/auth/ndev.clouddns.readwrite',
      // Without both, Google returns a refresh token for the first authorization only.
      parameters: { access_type: 'offline', prompt: 'consent' },
      members: [projectRule],
    },
    reading,
    open(api, ports, signal, kept) {
      const google = new GoogleClient(api, keptMember(kept, 'project'));
      return { zones: () => google.zones(), ...rrsetChanges(google, ports, signal) };
    },
  });
}
