import { LeaseLost } from '@certwright/postgres';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { DnsIntegrations } from './dns-integrations';
import { type LeasedIntegration } from './integration-lease';
import { LeasedIntegrations } from './leased-integrations';
import { integrationFixture, type IntegrationFixture } from '@certwright/core-testing';

let core: CoreDatabaseFixture;
let integrations: DnsIntegrations;
let leases: LeasedIntegrations;
let fixture: IntegrationFixture;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  integrations = new DnsIntegrations(core.database, core.transactions);
  leases = new LeasedIntegrations(core.database, core.transactions);
  fixture = integrationFixture(core, integrations);
  for (const account of ['1', '2', '3']) await core.account(account);
});
afterAll(async () => await core.close());
beforeEach(async () => await fixture.clear());

const lease = async (id: string, ms = 30_000): Promise<LeasedIntegration> => {
  const leased = await leases.lease(id, ms);
  if (leased === null) throw new Error('it is free');
  return leased;
};
const timeIsUp = async (id: string) =>
  await core.database.query(
    `UPDATE dns_integration SET leased_until = now() - interval '1 s' WHERE id = $1`,
    [id],
  );
const zonesOf = async (id: string) => (await integrations.zonesOf('1', [id])).get(id) ?? [];

describe('a lease', () => {
  it('is granted to one worker at a time, also concurrently', async () => {
    const id = await fixture.create('1');
    const got = await Promise.all(Array.from({ length: 8 }, () => leases.lease(id, 30_000)));
    const held = got.filter((each) => each !== null);
    expect(held).toHaveLength(1);
    expect(held[0]).toMatchObject({
      lease: { integrationId: id, token: '1' },
      integration: { id, accountId: '1', provider: 'desec', handle: `handle of ${id}`, deletedAt: null },
    });
  });

  it('is free again when it is given back, or when its time is up', async () => {
    const id = await fixture.create('1');
    await leases.release((await lease(id)).lease);
    expect((await lease(id)).lease.token).toBe('2');
    expect(await leases.lease(id, 30_000)).toBeNull();
    await timeIsUp(id);
    expect((await lease(id)).lease.token).toBe('3');
  });

  it('lasts longer when it is extended', async () => {
    const id = await fixture.create('1');
    const { lease: held } = await lease(id, 1);
    await leases.extend(held, 60_000);
    expect(await leases.lease(id, 30_000)).toBeNull();
  });

  it('that was taken by another worker writes nothing, extends nothing and releases nothing', async () => {
    const id = await fixture.create('1');
    const { lease: old } = await lease(id);
    await timeIsUp(id);
    const { lease: held } = await lease(id);

    await expect(leases.save(old, { handle: 'late', zones: [] }, 'release')).rejects.toThrow(LeaseLost);
    await expect(leases.extend(old, 60_000)).rejects.toThrow(LeaseLost);
    await leases.release(old);
    expect(await leases.lease(id, 1)).toBeNull();
    expect(await zonesOf(id)).toHaveLength(1);
    await leases.save(held, { handle: 'new' }, 'release');
    expect((await lease(id)).integration.handle).toBe('new');
  });

  it('that has expired still saves a new handle, unless another worker took it', async () => {
    const id = await fixture.create('1');
    const { lease: held } = await lease(id);
    await timeIsUp(id);
    await leases.save(held, { handle: 'rotated' }, 'release');
    expect((await lease(id)).integration.handle).toBe('rotated');
  });

  it('is not given for an integration whose handle is gone', async () => {
    const id = await fixture.create('1');
    await fixture.delete('1', id);
    await integrations.forgetDeleted();
    expect(await leases.lease(id, 30_000)).toBeNull();
  });
});

describe('saving', () => {
  it('writes what is given and leaves the rest', async () => {
    const id = await fixture.create('1');
    const { lease: held, now } = await lease(id);
    const problem = {
      code: 'dns_gateway_failed',
      fault: 'provider_auth_failed',
      saying: 'It refuses.',
    } as const;
    const failing = { state: 'failing', problem, failures: 3, zonesDueAt: now } as const;
    await leases.save(held, failing, { keepForMs: 60_000 });
    await leases.save(held, { checkedAt: now }, 'release');
    expect((await lease(id)).integration).toMatchObject({ ...failing, handle: `handle of ${id}` });
    expect((await integrations.get('1', id))?.checkedAt).toEqual(now);
  });

  it('replaces the zones; of two with one name the first is kept', async () => {
    const id = await fixture.create('1', [
      { id: 'a', name: 'a.example' },
      { id: 'b', name: 'b.example' },
    ]);
    const { lease: held } = await lease(id);
    const zones = [
      { id: 'b2', name: 'b.example' },
      { id: 'c', name: 'c.example' },
      { id: 'b3', name: 'b.example' },
    ];
    await leases.save(held, { zones }, { keepForMs: 60_000 });
    expect(await zonesOf(id)).toEqual(zones.slice(0, 2));
    await leases.save(held, { zones: [] }, 'release');
    expect(await zonesOf(id)).toEqual([]);
  });

  it('brings no zone back of an integration that was deleted meanwhile, but its new handle, which removes', async () => {
    const id = await fixture.create('1');
    const { lease: held } = await lease(id);
    await fixture.delete('1', id);
    await leases.save(held, { handle: 'rotated', zones: [{ id: 'z', name: 'z.example' }] }, 'release');
    expect(
      await core.database.query(`SELECT 1 FROM dns_integration_zone WHERE integration_id = $1`, [id]),
    ).toEqual([]);
    const { integration } = await lease(id);
    expect(integration).toMatchObject({ handle: 'rotated', deletedAt: expect.any(Date) });
  });
});

describe('due', () => {
  const due = async (limit = 100) => (await leases.due(limit)).map(({ id }) => id);

  it('returns those with a due record or due zones and without a lease, each once', async () => {
    const [quiet, zones, record, held, both] = [
      await fixture.create('1'),
      await fixture.create('1'),
      await fixture.create('1'),
      await fixture.create('1'),
      await fixture.create('1'),
    ];
    for (const id of [zones, held, both]) await fixture.zonesDue(id);
    for (const id of [record, both]) await fixture.record(id, { dnsName: `${id}.example`, dueInS: -5 });
    await fixture.record(quiet, { dnsName: 'later.example', dueInS: 60 });
    await fixture.record(quiet, { dnsName: 'over.example', dueInS: -60, state: 'removed' });
    await lease(held);

    expect((await due()).sort()).toEqual([zones, record, both].sort());
    const [first] = await leases.due(1);
    expect(first).toMatchObject({ accountId: '1', leaseToken: '0' });
    expect(first?.overdueS).toBeGreaterThanOrEqual(0);
  });

  it('names deleted ones for their records, never for their zones', async () => {
    const [plain, withRecord] = [await fixture.create('1'), await fixture.create('1')];
    await fixture.record(withRecord, { dnsName: 'a.example', dueInS: 600 });
    for (const id of [plain, withRecord]) await fixture.zonesDue(id);
    for (const id of [plain, withRecord]) await fixture.delete('1', id);
    expect(await due()).toEqual([withRecord]);
  });

  it('gives every account its turn, however much is due for another', async () => {
    const many = [];
    for (let at = 0; at < 12; at += 1) many.push(await fixture.create('1'));
    const [second, third] = [await fixture.create('2'), await fixture.create('3')];
    for (const id of many) await fixture.zonesDue(id, 3_600);
    for (const id of [second, third]) await fixture.zonesDue(id, 1);
    const four = await due(4);
    expect(four).toHaveLength(4);
    expect(four).toEqual(expect.arrayContaining([second, third]));
  });
});
