import type { Zone } from '@certwright/gateway-contract';
import { inspect } from 'node:util';
import type { ProviderSession } from '../dns-provider';
import { ProviderFault, type ProviderFaultKind } from '../provider-fault';
import { type ApiServer, type Misbehaviour } from './api-server';
import { openSession, racingSession, type ProviderSpec, type ProviderWorld } from './provider-world';

/** Allowed kinds of the error; `loop` applies to lists with several pages only. */
const expected: Readonly<Record<Exclude<Misbehaviour, 'applied_then_cut'>, readonly ProviderFaultKind[]>> = {
  rate_limited: ['rate_limited'],
  forbidden: ['auth_failed'],
  server_error: ['unavailable'],
  html: ['unavailable'],
  truncated: ['unavailable'],
  unsuccessful: ['unavailable', 'rejected'],
  scalar: ['unavailable'],
  wrong_shape: ['unavailable', 'rejected'],
  loop: ['unavailable'],
  redirect: ['unavailable'],
  huge: ['unavailable'],
  cut: ['unavailable'],
  silent: ['unavailable'],
  echo: ['rejected'],
};

/**
 * An API that deviates from its documentation, for each HTTP provider: the right error kind, quickly, without
 * secrets.
 */
export function describeMisbehaviour({ name, setUp, cannot = {} }: ProviderSpec): void {
  describe(`${name} when its API misbehaves`, () => {
    let world: ProviderWorld;
    let server: ApiServer;
    let session: ProviderSession;
    let zone: Zone;

    beforeEach(async () => {
      world = await setUp();
      if (world.server === undefined) throw new Error('Only providers over HTTP can misbehave on request.');
      server = world.server;
      session = await openSession(world);
      const zones = await session.zones();
      zone = zones.find((each) => each.name === world.zone) ?? fail();
    });
    afterEach(() => world.close?.());

    const kinds = Object.entries(expected) as [Misbehaviour, readonly ProviderFaultKind[]][];
    it.each(kinds.filter(([how]) => how !== 'loop' || cannot.pages === undefined))(
      '%s: the list of zones is a fault',
      async (how, kindsOfFault) => {
        server.misbehave(how, 1_000);
        const before = server.requests.length;
        const fault = await faultOf(session.zones());
        expect(kindsOfFault).toContain(fault.kind);
        if (how === 'rate_limited') expect(fault.retryAfterS).toBe(30);
        // Three attempts of a few requests, or one list until it repeats itself.
        expect(server.requests.length - before).toBeLessThanOrEqual(8);
        expectSilence(fault, world, server);
      },
    );

    const changes = kinds.filter(([how]) => how !== 'loop');
    it.each(changes)(
      '%s: a change is a fault, and is made when it is repeated',
      async (how, kindsOfFault) => {
        const fqdn = `_acme-challenge.${world.zone}`;
        const record = { fqdn, type: 'TXT', value: 'afterwards', ttlS: null } as const;
        server.misbehave(how, 1_000);
        const fault = await faultOf(session.add(zone, record));
        expect(kindsOfFault).toContain(fault.kind);
        expectSilence(fault, world, server);
        server.misbehave(how, 0);
        await session.add(zone, record);
        expect((await world.list(fqdn)).map(({ value }) => value)).toEqual(['afterwards']);
      },
    );

    it.each(['applied_then_cut', ...changes.map(([how]) => how)] as const)(
      '%s, of writes only: a change is made once, whatever was said of it',
      async (how) => {
        const fqdn = `_acme-challenge.${world.zone}`;
        const record = { fqdn, type: 'TXT', value: 'once', ttlS: null } as const;
        const values = async () => (await world.list(fqdn)).map(({ value }) => value);
        for (const change of ['add', 'remove'] as const) {
          server.misbehave(how, 1_000, ({ method }) => method !== 'GET');
          const fault = await session[change](zone, record).then(
            () => null,
            (error: unknown) => error,
          );
          if (fault !== null) {
            expect(fault).toBeInstanceOf(ProviderFault);
            expectSilence(fault as ProviderFault, world, server);
          }
          server.misbehave(how, 0);
          await session[change](zone, record);
          expect(await values()).toEqual(change === 'add' ? ['once'] : []);
        }
      },
    );

    it.each(['add', 'remove'] as const)(
      '%s: what somebody else did between our look and our change is a success',
      async (change) => {
        const fqdn = `_acme-challenge.${world.zone}`;
        const record = { fqdn, type: 'TXT', value: 'the same', ttlS: null } as const;
        if (change === 'remove') await session.add(zone, record);
        const others = jest.fn(() => session[change](zone, record));
        const racing = await racingSession(world, others);
        await racing[change](zone, record);
        expect(others).toHaveBeenCalledTimes(1);
        // An API that accepts the same record twice has it twice: no lock spans two copies of this process.
        const values = new Set((await world.list(fqdn)).map(({ value }) => value));
        expect([...values]).toEqual(change === 'add' ? ['the same'] : []);
      },
    );

    it('a read that fails once is tried again', async () => {
      server.misbehave('server_error', 1);
      expect((await session.zones()).length).toBeGreaterThan(0);
    });
  });
}

const fail = (): never => {
  throw new Error('The fake does not have its own zone.');
};

async function faultOf(attempt: Promise<unknown>): Promise<ProviderFault> {
  const error = await attempt.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProviderFault);
  return error as ProviderFault;
}

/** Checks the message and everything that a logger would print of the error. */
function expectSilence(
  fault: ProviderFault,
  { credentials, secrets = [] }: ProviderWorld,
  server: ApiServer,
): void {
  const { type: _, ...members } = credentials;
  const sent = server.requests.flatMap(({ headers }) => (headers['authorization'] ?? '').split(' ').slice(1));
  const shown = inspect(fault, { depth: 8, showHidden: true }).replace(/^ {4}at .*$/gm, '');
  for (const secret of [...Object.values(members), ...secrets, ...sent]) {
    if (typeof secret === 'string' && secret.length >= 8) expect(shown).not.toContain(secret);
  }
}
