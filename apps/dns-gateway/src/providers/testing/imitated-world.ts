import type { Credentials } from '@certwright/gateway-contract';
import type { DnsProvider } from '../dns-provider';
import { type ApiReply, ApiServer, type RecordedRequest } from './api-server';
import { ImitatedZones } from './imitated-zones';
import { oauthClient, type OauthWorld } from './oauth-conformance';
import { OauthImitation, type OauthImitationOptions } from './oauth-imitation';
import type { PlainRecord, ProviderWorld } from './provider-world';
import { testPorts } from './test-ports';

/** A fake provider with its own server. */
export interface Imitation {
  readonly server: ApiServer;
  plant(record: PlainRecord, zone: string): void;
  list(fqdn: string): readonly PlainRecord[];
}

export type ImitatedWorld<T extends Imitation> = ProviderWorld & {
  readonly server: ApiServer;
  readonly imitation: T;
};

const zone = 'example.com';

/** @param names created by `zoneNames` */
export const imitatedWorld = <T extends Imitation>(
  imitation: T,
  names: readonly string[],
  world: Pick<ProviderWorld, 'provider' | 'credentials' | 'wrongCredentials'>,
): ImitatedWorld<T> => ({
  ...world,
  imitation,
  account: 'account-1',
  ports: testPorts({ server: imitation.server }),
  server: imitation.server,
  zone,
  subZone: 'sub.example.com',
  zoneNames: names,
  plant: async (record) => imitation.plant(record, zone),
  list: async (fqdn) => imitation.list(fqdn),
  close: () => imitation.server.close(),
});

/** With one valid and one invalid token. */
export const tokenWorld = <T extends Imitation & { readonly token: string }>(
  imitation: T,
  names: readonly string[],
  provider: DnsProvider,
): ImitatedWorld<T> =>
  imitatedWorld(imitation, names, {
    provider,
    credentials: { type: 'bearer', token: imitation.token },
    wrongCredentials: { type: 'bearer', token: 'not-that-token' },
  });

/** Members shared by all fakes that use `ImitatedZones`. */
export const zonesWorld = (server: ApiServer, zones: ImitatedZones, names: readonly string[]) => ({
  account: 'account-1',
  server,
  zone,
  subZone: 'sub.example.com',
  zoneNames: names,
  plant: zones.plant,
  list: zones.list,
  close: () => server.close(),
});

export interface OauthWorldOptions {
  readonly zones: ImitatedZones;
  /** Names of the zones to list. */
  readonly names: readonly string[];
  readonly oauth: Omit<OauthImitationOptions, keyof typeof oauthClient>;
  /** @param isToken whether OAuth issued it */
  readonly api: (isToken: (token: string) => boolean) => {
    readonly answer: (request: RecordedRequest) => ApiReply;
  };
  readonly provider: (options: {
    readonly baseUrl: string;
    readonly oauthUrl: string;
    readonly oauth: typeof oauthClient;
  }) => DnsProvider;
  readonly credentials: Credentials;
  readonly wrongCredentials: Credentials;
}

/** An API with an authorization server, and a clock that can be advanced. */
export async function oauthWorld(options: OauthWorldOptions): Promise<OauthWorld> {
  const { zones, names, credentials, wrongCredentials } = options;
  const oauth = new OauthImitation({ ...oauthClient, ...options.oauth });
  const api = options.api((token) => oauth.accessTokens.has(token));
  const server = await ApiServer.open((request) =>
    request.path === '/oauth/token' ? oauth.answer(request) : api.answer(request),
  );
  let now = Date.parse('2026-11-01T00:00:00Z');
  return {
    ...zonesWorld(server, zones, names),
    provider: options.provider({
      baseUrl: server.url,
      oauthUrl: `${server.url}/oauth`,
      oauth: oauthClient,
    }),
    credentials,
    wrongCredentials,
    ports: testPorts({ server, now: () => new Date(now) }),
    oauth,
    advance: (seconds) => (now += seconds * 1000),
  };
}

/** The same world, with a code from the browser. */
export const withCode = async (world: Promise<OauthWorld>): Promise<OauthWorld> => ({
  ...(await world),
  credentials: { type: 'oauth_code', code: 'planted-code-123456' },
});
