import type { Zone } from '@certwright/gateway-contract';
import { describeProvider } from '../testing/conformance';
import { type FakeWorld, tokenWorld } from '../testing/fake-world';
import { zoneNames } from '../testing/fake-zones';
import { describeMisbehaviour } from '../testing/misbehaviour';
import { openSession, type ProviderSpec } from '../testing/provider-world';
import { locked, protectedZone, readonly, tooMany } from './testing/fixtures';
import { hetznerProvider } from './hetzner';
import { FakeHetzner } from './testing/fake-hetzner';

const zone = 'example.com';
const names = zoneNames(103);

async function worldOf(): Promise<FakeWorld<FakeHetzner>> {
  const fake = await FakeHetzner.open(names);
  return {
    ...tokenWorld(fake, names, hetznerProvider({ baseUrl: fake.server.url })),
    goneZoneId: '1',
  };
}

const spec: ProviderSpec = { name: 'Hetzner', setUp: worldOf };
describeProvider(spec);
describeMisbehaviour(spec);

describe('Hetzner', () => {
  const fqdn = `_acme-challenge.${zone}`;
  const record = { fqdn, type: 'TXT', value: 'v', ttlS: null } as const;
  let world: FakeWorld<FakeHetzner>;
  let at: Zone;

  beforeEach(async () => {
    world = await worldOf();
    at = { id: String(world.fake.idOf(zone)), name: zone };
  });
  afterEach(() => world.server.close());

  const actions = () =>
    world.server.requests
      .filter(({ method }) => method === 'POST')
      .map(({ path, body }) => [path.split('/').slice(-4).join('/'), JSON.parse(body) as unknown]);

  it('only the added record is sent, in quotes, and the TTL only with the first', async () => {
    const session = await openSession(world);
    await session.add(at, { ...record, value: `a"b${'c'.repeat(253)}`, ttlS: 300 });
    await session.add(at, { ...record, ttlS: 600 });
    expect(actions()).toEqual([
      [
        '_acme-challenge/TXT/actions/add_records',
        { records: [{ value: `"a\\"b${'c'.repeat(252)}" "c"` }], ttl: 300 },
      ],
      ['_acme-challenge/TXT/actions/add_records', { records: [{ value: '"v"' }] }],
    ]);
  });

  it('only the removed record is sent', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'theirs' }, zone);
    world.fake.plant({ fqdn, type: 'TXT', value: 'v' }, zone);
    const session = await openSession(world);
    await session.remove(at, record);
    expect(actions()).toEqual([
      ['_acme-challenge/TXT/actions/remove_records', { records: [{ value: '"v"' }] }],
    ]);
  });

  it('a replacement sets all records of the type at once, and the TTL', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'old' }, zone, 86_400);
    const session = await openSession(world);
    await session.replace(at, { ...record, ttlS: 60 });
    expect(actions().map(([path]) => path)).toEqual([
      '_acme-challenge/TXT/actions/set_records',
      '_acme-challenge/TXT/actions/change_ttl',
    ]);
    expect(world.fake.rrsetsAt(fqdn)[0]?.ttl).toBe(60);
  });

  it('waits until a change is applied', async () => {
    world.fake.actionLooks = 5;
    const session = await openSession(world);
    await session.add(at, record);
    const looks = world.server.requests.filter(({ path }) => path.startsWith('/actions/'));
    expect(looks).toHaveLength(5);
  });

  it('a change that fails after acceptance, or never ends, is unavailable', async () => {
    const session = await openSession(world);
    world.fake.actionEnd = 'error';
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'unavailable' });
    world.fake.actionEnd = 'running';
    await expect(session.add(at, { ...record, value: 'w' })).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('a change that was accepted and cannot be followed is unavailable, since it may be applied', async () => {
    world.fake.actionLooks = 5;
    const session = await openSession(world);
    world.server.misbehave('rate_limited', 3, ({ path }) => path.startsWith('/actions/'));
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'unavailable', retryAfterS: 30 });
  });

  it('a change of which a later step is refused is unavailable, since the record is written', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'old' }, zone, 86_400);
    const session = await openSession(world);
    world.server.misbehave('rate_limited', 3, ({ path }) => path.endsWith('/change_ttl'));
    await expect(session.replace(at, { ...record, ttlS: 60 })).rejects.toMatchObject({
      kind: 'unavailable',
      retryAfterS: 30,
    });
    expect(world.fake.list(fqdn).map(({ value }) => value)).toEqual(['v']);
  });

  it('a zone locked by another change is retried', async () => {
    world.fake.refuseNext(locked, locked);
    const session = await openSession(world);
    await session.add(at, record);
    expect(actions()).toHaveLength(3);
  });

  it('a value that another client added meanwhile is a success', async () => {
    const session = await openSession(world);
    world.fake.beforeNextAction(() => world.fake.plant(record, zone));
    await session.add(at, record);
    expect(actions()).toHaveLength(1);
    expect(world.fake.list(fqdn)).toHaveLength(1);
  });

  it('values added and removed meanwhile by other clients are neither lost nor restored', async () => {
    const theirs = { fqdn, type: 'TXT', value: 'theirs' } as const;
    const session = await openSession(world);
    world.fake.beforeNextAction(() => world.fake.plant(theirs, zone));
    await session.add(at, record);
    expect(world.fake.list(fqdn).map(({ value }) => value)).toEqual(['theirs', 'v']);
    world.fake.beforeNextAction(() => world.fake.plant({ ...theirs, value: 'more' }, zone));
    await session.remove(at, record);
    expect(world.fake.list(fqdn).map(({ value }) => value)).toEqual(['theirs', 'more']);
  });

  it('a read-only token is auth_failed', async () => {
    world.fake.refuseNext(readonly);
    const session = await openSession(world);
    await expect(session.add(at, record)).rejects.toMatchObject({
      kind: 'auth_failed',
      message: expect.stringContaining('only allowed to perform GET requests') as string,
    });
  });

  it.each([protectedZone, tooMany])('a refusal unrelated to the token is rejected', async (reply) => {
    world.fake.refuseNext(reply);
    const session = await openSession(world);
    await expect(session.add(at, record)).rejects.toMatchObject({ kind: 'rejected' });
  });

  it('a foreign TTL stays unchanged, even when it is the default of the zone', async () => {
    world.fake.plant({ fqdn, type: 'TXT', value: 'theirs' }, zone);
    const session = await openSession(world);
    await session.add(at, { ...record, ttlS: 60 });
    expect(actions().map(([path]) => path)).toEqual(['_acme-challenge/TXT/actions/add_records']);
  });

  it('a secondary zone is not listed', async () => {
    const session = await openSession(world);
    expect((await session.zones()).map(({ name }) => name)).not.toContain('copy.example');
  });
});
