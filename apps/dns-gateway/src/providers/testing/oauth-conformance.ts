import type { ApiServer } from './api-server';
import type { FakeOauth } from './fake-oauth';
import { openSession, type ProviderWorld } from './provider-world';

export interface OauthWorld extends ProviderWorld {
  /** Its `credentials` are of type `oauth_code`. */
  readonly server: ApiServer;
  readonly oauth: FakeOauth;
  /** Advances the ports' clock. */
  advance(seconds: number): void;
}

export interface OauthSpec {
  readonly name: string;
  setUp(): Promise<OauthWorld>;
  /** Whether each refresh token is valid for one exchange. */
  readonly rotates: boolean;
}

/** Rules for every provider with customer authorization by OAuth. */
export function describeOauth({ name, setUp, rotates }: OauthSpec): void {
  describe(`${name} by OAuth`, () => {
    let world: OauthWorld;
    const open = (kept: Parameters<ProviderWorld['provider']['session']>[0]) =>
      world.provider.session(kept, world.account, world.ports, AbortSignal.timeout(10_000));
    const accept = () =>
      world.provider.accept(world.credentials, world.account, world.ports, AbortSignal.timeout(10_000));

    beforeEach(async () => {
      world = await setUp();
    });
    afterEach(() => world.close?.());

    it('the code is exchanged once, and only what lasts is kept', async () => {
      const kept = await accept();
      expect(JSON.stringify(kept)).toContain('refresh-token-1');
      expect(JSON.stringify(kept)).not.toMatch(/access-token|planted-code/);
      expect((await open(kept).zones()).length).toBe(world.zoneNames.length);
      expect(world.oauth.exchanges).toBe(1);
    });

    it('a code that was used, or never given, is auth_failed', async () => {
      await accept();
      await expect(accept()).rejects.toMatchObject({ name: 'ProviderFault', kind: 'auth_failed' });
    });

    it('an access token that has ended is replaced by one exchange, which all who wait share', async () => {
      const kept = await accept();
      world.advance(100_000_000);
      const sessions = Array.from({ length: 8 }, () => open(kept));
      await Promise.all(sessions.map((session) => session.zones()));
      expect(world.oauth.exchanges).toBe(2);
      const renewed = rotates ? { ...kept, refresh_token: 'refresh-token-2-of-this-provider' } : null;
      for (const session of sessions) expect(session.renewed()).toEqual(renewed);
    });

    it('a refused access token is replaced once', async () => {
      const kept = await accept();
      world.oauth.accessTokens.clear();
      expect((await open(kept).zones()).length).toBe(world.zoneNames.length);
      expect(world.oauth.exchanges).toBe(2);
    });

    it('an authorization that was withdrawn is auth_failed', async () => {
      const kept = await accept();
      world.oauth.accessTokens.clear();
      world.oauth.refreshTokens.clear();
      await expect(open(kept).zones()).rejects.toMatchObject({ kind: 'auth_failed' });
    });

    (rotates ? it : it.skip)(
      'a rotated refresh token is reported although the change itself failed',
      async () => {
        const kept = await accept();
        world.advance(100_000_000);
        const session = open(kept);
        expect(session.renewed()).toBeNull();
        world.server.misbehave('server_error', 1_000, ({ path }) => !path.includes('token'));
        await expect(session.zones()).rejects.toMatchObject({ kind: 'unavailable' });
        expect(session.renewed()).toMatchObject({ refresh_token: 'refresh-token-2-of-this-provider' });
      },
    );

    (rotates ? it : it.skip)(
      'an old handle is served after a rotation, and the newest token is reported',
      async () => {
        const first = await accept();
        world.advance(100_000_000);
        const session = open(first);
        await session.zones();
        const second = session.renewed() ?? first;
        world.advance(100_000_000);
        await open(second).zones();
        const late = open(first);
        expect((await late.zones()).length).toBe(world.zoneNames.length);
        expect(late.renewed()).toMatchObject({ refresh_token: 'refresh-token-3-of-this-provider' });
        expect(world.oauth.exchanges).toBe(3);
      },
    );

    it('is offered with an address for the browser, and not without a registration', () => {
      const kind = world.provider.credentialKinds(world.account).find(({ type }) => type === 'oauth_code');
      const url = new URL(String(kind?.authorization_url));
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        response_type: 'code',
        client_id: 'client-of-this-service',
        redirect_uri: 'https://certwright.example/oauth',
      });
    });

    it('the whole contract holds with it', async () => {
      const session = await openSession(world);
      const zone = (await session.zones()).find((each) => each.name === world.zone);
      if (zone === undefined) throw new Error('The fake does not have its own zone.');
      const record = {
        fqdn: `_acme-challenge.${zone.name}`,
        type: 'TXT',
        value: 'by oauth',
        ttlS: null,
      } as const;
      await session.add(zone, record);
      expect((await world.list(record.fqdn)).map(({ value }) => value)).toEqual(['by oauth']);
    });
  });
}

/** Registered at every fake server. */
export const oauthClient = {
  clientId: 'client-of-this-service',
  clientSecret: 'planted-client-secret',
  redirectUri: 'https://certwright.example/oauth',
} as const;
