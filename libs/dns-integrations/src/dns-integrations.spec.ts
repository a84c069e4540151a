import { randomInt } from 'node:crypto';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { integrationFixture, type IntegrationFixture } from '@certwright/core-testing';
import { DnsIntegrations, maxDnsIntegrations } from './dns-integrations';
import { LeasedIntegrations } from './leased-integrations';

let core: CoreDatabaseFixture;
let integrations: DnsIntegrations;
let leases: LeasedIntegrations;
let fixture: IntegrationFixture;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  integrations = new DnsIntegrations(core.database, core.transactions);
  leases = new LeasedIntegrations(core.database, core.transactions);
  fixture = integrationFixture(core, integrations);
  for (const account of ['1', '2']) await core.account(account);
});
afterAll(async () => await core.close());
beforeEach(async () => await fixture.clear());

const wakeUps = async () => await core.database.query(`SELECT job, payload FROM outbox ORDER BY id`);
const handleOf = async (id: string) => {
  const [row] = await core.database.query<{ handle: string | null }[]>(
    `SELECT handle FROM dns_integration WHERE id = $1`,
    [id],
  );
  return row?.handle;
};
const daysAgo = async (id: string, days: number) =>
  await core.database.query(
    `UPDATE dns_integration SET deleted_at = now() - make_interval(days => $2) WHERE id = $1`,
    [id, days],
  );

describe('create', () => {
  it('is bound to fifty of an account, also when many come together; deleted ones do not count', async () => {
    const tryOne = async () =>
      await core.transactions.run(
        async (tx) =>
          await integrations.create(tx, {
            id: String(randomInt(1, 2 ** 47)),
            accountId: '1',
            provider: 'desec',
            description: '',
            handle: 'h',
            zones: [],
            zonesDueAt: new Date(),
          }),
      );
    const made = await Promise.all(Array.from({ length: maxDnsIntegrations + 5 }, tryOne));
    expect(made.filter((each) => each !== null)).toHaveLength(maxDnsIntegrations);
    expect(await integrations.hasRoom('1')).toBe(false);
    expect(await integrations.hasRoom('2')).toBe(true);
    await fixture.delete('1', made.find((each) => each !== null)?.id ?? '');
    expect(await integrations.hasRoom('1')).toBe(true);
    expect(await tryOne()).not.toBeNull();
  });

  it('has zones that could not be listed yet listed at once', async () => {
    const id = await fixture.create('1', null);
    expect(await wakeUps()).toEqual([{ job: 'keep-integration', payload: { integrationId: id } }]);
    expect((await leases.due(10)).map((each) => each.id)).toEqual([id]);
  });
});

describe('another account', () => {
  it('does not show, list or delete it', async () => {
    const id = await fixture.create('1');
    expect(await integrations.get('2', id)).toBeNull();
    expect(await integrations.ofAccount('2')).toEqual([]);
    expect((await integrations.zonesOf('2', [id])).size).toBe(0);
    expect(await fixture.delete('2', id)).toBe(false);
    expect(await integrations.get('1', id)).not.toBeNull();
  });
});

describe('markDeleted', () => {
  it('hides it from its account at once, has its records removed, and writes a wake-up', async () => {
    const id = await fixture.create('1');
    await fixture.record(id, { dnsName: 'a.example', state: 'standing', dueInS: 3_600 });
    await fixture.record(id, { dnsName: 'b.example', state: 'wanted', dueInS: null });
    await fixture.record(id, { dnsName: 'c.example', state: 'unwanted', dueInS: 3_600 });
    expect(await fixture.delete('1', id)).toBe(true);
    expect(await fixture.delete('1', id)).toBe(false);

    expect(await integrations.get('1', id)).toBeNull();
    expect(await integrations.ofAccount('1')).toEqual([]);
    const records = await core.database.query(
      `SELECT dns_name, state, due_at <= now() AS due FROM approval_record ORDER BY dns_name`,
    );
    expect(records).toEqual([
      { dns_name: 'a.example', state: 'unwanted', due: true },
      { dns_name: 'b.example', state: 'unwanted', due: true },
      // Its removal goes on in its own time.
      { dns_name: 'c.example', state: 'unwanted', due: false },
    ]);
    expect(await wakeUps()).toEqual([{ job: 'keep-integration', payload: { integrationId: id } }]);
    expect(await handleOf(id)).toBe(`handle of ${id}`);
  });

  it('does not wait for the holder of the lease', async () => {
    const id = await fixture.create('1');
    await leases.lease(id, 60_000);
    expect(await fixture.delete('1', id)).toBe(true);
  });
});

describe('forgetDeleted', () => {
  it('drops the handle once no record is left to remove, and not while it is leased', async () => {
    const [standing, waiting, free] = [
      await fixture.create('1'),
      await fixture.create('1'),
      await fixture.create('1'),
    ];
    await fixture.record(waiting, { dnsName: 'a.example', state: 'standing', dueInS: 60 });
    await fixture.record(free, { dnsName: 'b.example', state: 'removed', dueInS: null });
    for (const id of [waiting, free]) await fixture.delete('1', id);
    const held = await leases.lease(free, 60_000);
    expect(await integrations.forgetDeleted()).toBe(0);
    if (held !== null) await leases.release(held.lease);

    expect(await integrations.forgetDeleted()).toBe(1);
    expect(await handleOf(free)).toBeNull();
    expect(await handleOf(waiting)).not.toBeNull();
    expect(await handleOf(standing)).not.toBeNull();
  });

  it('keeps the handle while a value of an approval zone may exist at the provider', async () => {
    const id = await fixture.create('1');
    await core.database.query(
      `INSERT INTO challenge_record (label, value, account_id, dns_name, expires_at, integration_id)
       VALUES ('label', repeat('v', 43), '1', 'c.example', now(), $1)`,
      [id],
    );
    await fixture.delete('1', id);
    await integrations.forgetDeleted();
    expect(await handleOf(id)).not.toBeNull();
    await core.database.query(`DELETE FROM challenge_record WHERE integration_id = $1`, [id]);
    await integrations.forgetDeleted();
    expect(await handleOf(id)).toBeNull();
  });

  it('gives up after seven days, and releases the names', async () => {
    const id = await fixture.create('1');
    await fixture.record(id, { dnsName: 'a.example', state: 'standing', dueInS: 60 });
    await fixture.delete('1', id);
    await daysAgo(id, 6);
    expect(await integrations.forgetDeleted()).toBe(0);
    await daysAgo(id, 8);
    expect(await integrations.forgetDeleted()).toBe(1);
    expect(await handleOf(id)).toBeNull();
    expect(await leases.due(10)).toEqual([]);
    // The name may be approved through another one now.
    await fixture.record(await fixture.create('1'), { dnsName: 'a.example', state: 'wanted', dueInS: 0 });
  });

  it('never restores a handle after a late response', async () => {
    const id = await fixture.create('1');
    const held = await leases.lease(id, 1);
    await fixture.delete('1', id);
    await core.database.query(`UPDATE dns_integration SET leased_until = NULL WHERE id = $1`, [id]);
    await integrations.forgetDeleted();
    if (held === null) throw new Error('it was free');
    await expect(leases.save(held.lease, { handle: 'late' }, 'release')).rejects.toThrow('is lost');
    expect(await handleOf(id)).toBeNull();
  });
});
