import type { Credentials } from '@certwright/gateway-contract';
import type { DnsProvider } from '../dns-provider';
import { type ApiReply, ApiServer, type RecordedRequest } from './api-server';
import { FakeZones } from './fake-zones';
import { oauthClient, type OauthWorld } from './oauth-conformance';
import { FakeOauth, type FakeOauthOptions } from './fake-oauth';
import type { PlainRecord, ProviderWorld } from './provider-world';
import { testPorts } from './test-ports';

/** A fake provider with its own server. */
export interface FakeApi {
  readonly server: ApiServer;
  plant(record: PlainRecord, zone: string): void;
  list(fqdn: string): readonly PlainRecord[];
}

export type FakeWorld<T extends FakeApi> = ProviderWorld & {
  readonly server: ApiServer;
  readonly fake: T;
};

const zone = 'example.com';

/** @param names created by `zoneNames` */
export const fakeWorld = <T extends FakeApi>(
  fake: T,
  names: readonly string[],
  world: Pick<ProviderWorld, 'provider' | 'credentials' | 'wrongCredentials'>,
): FakeWorld<T> => ({
  ...world,
  fake,
  account: 'account-1',
  ports: testPorts({ server: fake.server }),
  server: fake.server,
  zone,
  subZone: 'sub.example.com',
  zoneNames: names,
  plant: async (record) => fake.plant(record, zone),
  list: async (fqdn) => fake.list(fqdn),
  close: () => fake.server.close(),
});

/** With one valid and one invalid token. */
export const tokenWorld = <T extends FakeApi & { readonly token: string }>(
  fake: T,
  names: readonly string[],
  provider: DnsProvider,
): FakeWorld<T> =>
  fakeWorld(fake, names, {
    provider,
    credentials: { type: 'bearer', token: fake.token },
    wrongCredentials: { type: 'bearer', token: 'not-that-token' },
  });

/** Members shared by all fakes that use `FakeZones`. */
export const zonesWorld = (server: ApiServer, zones: FakeZones, names: readonly string[]) => ({
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
  readonly zones: FakeZones;
  /** Names of the zones to list. */
  readonly names: readonly string[];
  readonly oauth: Omit<FakeOauthOptions, keyof typeof oauthClient>;
  /** @param isToken whether OAuth issued it */
  readonly api: (isToken: (token: string) => boolean) => {
    readonly respond: (request: RecordedRequest) => ApiReply;
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
  const oauth = new FakeOauth({ ...oauthClient, ...options.oauth });
  const api = options.api((token) => oauth.accessTokens.has(token));
  const server = await ApiServer.open((request) =>
    request.path === '/oauth/token' ? oauth.respond(request) : api.respond(request),
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
