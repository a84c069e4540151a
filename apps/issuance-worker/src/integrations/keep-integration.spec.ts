import { IssuanceWakeUps } from '@certwright/approvals';
import { Outbox } from '@certwright/core-schema';
import { GatewayFault } from '@certwright/gateway-client';
import { eventually } from '@certwright/testing';
import { FaultyDatabase } from '../testing/faulty-database';
import { Keeping } from '../testing/keeping';
import { openIssuance, opensslCsr, type OpenedIssuance } from '../testing/opened-issuance';
import { severableDatabase } from '../testing/severable-database';

const name = 'www.example.com';
const fqdn = `_acme-challenge.${name}`;

let keeping: Keeping;
let csr: Buffer;
let account = 2_000_000;
let accountId: string;
let integration: string;

beforeAll(async () => {
  keeping = await Keeping.open(['example.com']);
  csr = opensslCsr([name]);
}, 30_000);
afterAll(async () => await keeping.close());
beforeEach(async () => await freshAccount());

/** With an integration for the zone, and nothing at the provider. */
async function freshAccount(): Promise<void> {
  account += 1;
  accountId = String(account);
  const { gateway } = keeping;
  gateway.asked.length = 0;
  gateway.strike = null;
  gateway.rotates = false;
  gateway.reaches = ['127.0.0.2', '127.0.0.3'];
  gateway.set(fqdn, null);
  integration = await keeping.integration(accountId, ['example.com']);
}

const open = async () => await openIssuance(keeping.issuing.repositories, [name], csr, accountId);

/** An order whose record is wanted. */
async function wanted(): Promise<OpenedIssuance> {
  const opened = await open();
  await keeping.advance(opened.issuanceId);
  return opened;
}

const keep = async (source = keeping.asWorker) => {
  await keeping.timePasses();
  await keeping.keep(integration, source);
};
const closePlan = async ({ planId }: OpenedIssuance) => {
  const { transactions, plans } = keeping.issuing.repositories;
  await transactions.run(async (tx) => await plans.close(tx, planId));
};
const record = async () => {
  const [row, ...more] = (await keeping.records(accountId)).slice(-1);
  if (row === undefined || more.length > 0) throw new Error('one record is expected');
  return row;
};
const standsAs = async () => {
  const { target } = await record();
  return { state: 'standing', atProvider: target };
};
const found = async () => ({
  state: (await record()).state,
  atProvider: keeping.gateway.records.get(fqdn) ?? null,
});

describe('a wanted record', () => {
  it('is added, and stands once every authoritative server answers with it', async () => {
    await wanted();
    keeping.gateway.reaches = ['127.0.0.2'];
    await keep();
    expect(await record()).toMatchObject({ state: 'wanted', failures: 0 });
    expect((await record()).problem).toMatch(/^ns3\.dns\.test .* does not respond with the record yet/);
    keeping.gateway.arrive();
    await keep();
    expect(await found()).toEqual(await standsAs());
    expect(keeping.gateway.asked).toEqual([`add ${fqdn}`]);
  });

  it('that is there already stands without being added, and stays when it is not needed any more', async () => {
    const opened = await wanted();
    const { target } = await record();
    keeping.gateway.set(fqdn, target);
    await keep();
    expect((await record()).state).toBe('standing');
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: target });
    expect(keeping.gateway.asked).toEqual([]);
  });

  it('is given up without a word to the gateway when it was never attempted', async () => {
    await closePlan(await wanted());
    await keep();
    expect((await record()).state).toBe('removed');
    expect(keeping.gateway.asked).toEqual([]);
  });

  it('replaces what stood there before', async () => {
    await wanted();
    keeping.gateway.set(fqdn, 'elsewhere.example.net');
    await keep();
    expect(await found()).toEqual(await standsAs());
  });
});

describe('a record that stood', () => {
  const stood = async () => {
    const opened = await wanted();
    await keep();
    await keeping.database.query(`UPDATE issuance SET due_at = now() WHERE id = $1`, [opened.issuanceId]);
    return opened;
  };

  it('is added again when the customer deleted it', async () => {
    const { issuanceId } = await stood();
    keeping.gateway.set(fqdn, null);
    await keeping.advance(issuanceId);
    await keep();
    expect(await found()).toEqual(await standsAs());
  });

  it('is left alone when something else replaced it, until a new issuance wants it', async () => {
    const { issuanceId } = await stood();
    keeping.gateway.set(fqdn, 'elsewhere.example.net');
    await keeping.advance(issuanceId);
    await keep();
    expect((await record()).problem).toContain('was replaced by something else');
    await keeping.timePasses();
    await keeping.advance(issuanceId);
    await keep();
    expect(await found()).toEqual({ state: 'wanted', atProvider: 'elsewhere.example.net' });
    await keeping.advance((await open()).issuanceId);
    await keep();
    expect(await found()).toEqual(await standsAs());
  });

  it('is left alone when something else replaced it, until the order is posted once more', async () => {
    const { issuanceId, planId } = await stood();
    keeping.gateway.set(fqdn, 'elsewhere.example.net');
    await keeping.advance(issuanceId);
    await keep();
    const { database } = keeping.issuing;
    const { transactions } = keeping.issuing.repositories;
    const wakeUps = new IssuanceWakeUps(database, new Outbox(database));
    await transactions.run(async (tx) => await wakeUps.wakePlan(tx, planId));
    await keep();
    expect(await found()).toEqual(await standsAs());
  });

  it('is removed when its order is deleted, and somebody else’s in its place is not', async () => {
    const opened = await stood();
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
    await freshAccount();
    const second = await stood();
    keeping.gateway.set(fqdn, 'elsewhere.example.net');
    await closePlan(second);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: 'elsewhere.example.net' });
  });

  it('is removed when its integration is deleted', async () => {
    await stood();
    await keeping.deleteIntegration(accountId, integration);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
  });

  it('moves to another integration when its own is deleted, though its provider lets nobody in any more', async () => {
    const { issuanceId } = await stood();
    const old = integration;
    await keeping.deleteIntegration(accountId, old);
    keeping.gateway.strike = { endpoint: 'removeRecord', when: 'before', fault: refused };
    await keep();
    expect(await record()).toMatchObject({ state: 'unwanted', failures: 1 });
    integration = await keeping.integration(accountId, ['example.com']);
    await keeping.timePasses();
    await keeping.advance(issuanceId);
    await keep();
    expect(await record()).toMatchObject({ state: 'standing', integration_id: integration });
    await keeping.keep(old);
    expect(await found()).toEqual(await standsAs());
  });
});

const refused = new GatewayFault('provider_auth_failed', 'The provider refuses the credentials.');

describe('an integration', () => {
  const stateOf = async (id: string) => {
    const [row] = await keeping.database.query<Record<string, unknown>[]>(
      `SELECT state, problem, handle, failures, leased_until, extract(epoch FROM zones_due_at - now())::int AS due_s
       FROM dns_integration WHERE id = $1`,
      [id],
    );
    return row;
  };

  it('that is refused is failing until it is let in again; the others of its records are not even tried', async () => {
    const names = ['a.example.com', 'b.example.com', 'c.example.com'];
    const many = await openIssuance(keeping.issuing.repositories, names, opensslCsr(names), accountId);
    await keeping.advance(many.issuanceId);
    keeping.gateway.strike = { endpoint: 'addRecord', when: 'before', fault: refused };
    await keep();
    expect(keeping.gateway.asked).toHaveLength(1);
    expect(await stateOf(integration)).toMatchObject({ state: 'failing', problem: refused.message });
    for (const row of await keeping.records(accountId)) {
      expect(row).toMatchObject({ state: 'wanted', failures: 1, problem: refused.message });
    }
    await keep();
    expect(await stateOf(integration)).toMatchObject({ state: 'ok', problem: null });
    expect((await keeping.records(accountId)).map(({ state }) => state)).toEqual(Array(3).fill('standing'));
    for (const each of names) keeping.gateway.set(`_acme-challenge.${each}`, null);
  });

  it('is asked later when it asks for patience', async () => {
    await wanted();
    const fault = new GatewayFault('provider_rate_limited', 'Too many.', { retryAfterS: 900 });
    keeping.gateway.strike = { endpoint: 'addRecord', when: 'before', fault };
    await keep();
    expect((await record()).waits_s).toBeGreaterThan(890);
  });

  it('whose handle changes with every answer goes on', async () => {
    keeping.gateway.rotates = true;
    const opened = await wanted();
    await keep();
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
    expect((await stateOf(integration))?.['handle']).toMatch(/^handle \d+ of/);
  });

  it('keeps the handle that an error brings', async () => {
    await wanted();
    const fault = new GatewayFault('provider_unavailable', 'Away.', { integration: 'brought by an error' });
    keeping.gateway.strike = { endpoint: 'addRecord', when: 'before', fault };
    await keep();
    expect(await stateOf(integration)).toMatchObject({ handle: 'brought by an error', leased_until: null });
  });

  it('has its zones listed anew when a name lies in none of them, and the name’s issuance looked at', async () => {
    keeping.zonesAre(integration, []);
    await keeping.database.query(`DELETE FROM dns_integration_zone WHERE integration_id = $1`, [integration]);
    await keeping.database.query(`UPDATE dns_integration SET checked_at = now() - interval '2 minutes'`);
    const opened = await wanted();
    expect(await keeping.records(accountId)).toEqual([]);
    keeping.zonesAre(integration, ['example.com']);
    await keep();
    expect(keeping.gateway.asked).toEqual(['zones']);
    await keeping.advance(opened.issuanceId);
    await keep();
    expect(await found()).toEqual(await standsAs());
  });

  it('whose zones cannot be listed says why, and is asked less and less often', async () => {
    await keeping.database.query(`UPDATE dns_integration SET zones_due_at = now() WHERE id = $1`, [
      integration,
    ]);
    keeping.gateway.strike = { endpoint: 'getZones', when: 'before' };
    await keep();
    const state = await stateOf(integration);
    expect(state).toMatchObject({
      state: 'ok',
      failures: 1,
      problem: 'The DNS gateway did not answer in time.',
    });
    expect(state?.['due_s']).toBeGreaterThan(50);
  });

  it('is given back after an outage of the database that ended its turn', async () => {
    await wanted();
    const severable = await severableDatabase(keeping.issuing.databaseUrl);
    const { gateway } = keeping;
    const adding = jest.spyOn(gateway, 'addRecord').mockImplementationOnce(async () => {
      severable.link.cut();
      return await Promise.reject(new GatewayFault('unreachable', 'Away.'));
    });
    try {
      await expect(keep(severable.source)).rejects.toThrow();
      severable.link.mend();
      await eventually(async () => expect(await stateOf(integration)).toMatchObject({ leased_until: null }));
    } finally {
      adding.mockRestore();
      await severable.close();
    }
    await keep();
    expect(await found()).toEqual(await standsAs());
  });

  it('is kept by one worker at a time', async () => {
    await wanted();
    await keeping.timePasses();
    await Promise.all([keeping.keep(integration), keeping.keep(integration), keeping.keep(integration)]);
    expect(keeping.gateway.asked).toEqual([`add ${fqdn}`]);
    expect(await found()).toEqual(await standsAs());
  });
});

describe('two tenants that name the same host', () => {
  it('get records of their own; the later one takes the place, and neither removes the other’s', async () => {
    const first = await wanted();
    await keep();
    const theirs = { accountId, integration, opened: first };
    const firstTarget = (await record()).target;
    account += 1;
    accountId = String(account);
    integration = await keeping.integration(accountId, ['example.com']);
    await wanted();
    await keep();
    expect((await record()).target).not.toBe(firstTarget);
    expect(await found()).toEqual(await standsAs());
    await closePlan(theirs.opened);
    await keeping.timePasses();
    await keeping.keep(theirs.integration);
    expect((await keeping.records(theirs.accountId)).map(({ state }) => state)).toEqual(['removed']);
    expect(await found()).toEqual(await standsAs());
  });
});

/** However it went: one record that is known, and that can be removed. */
async function endsWell(opened: OpenedIssuance): Promise<void> {
  await keep();
  expect(await found()).toEqual(await standsAs());
  await closePlan(opened);
  await keep();
  expect(await found()).toEqual({ state: 'removed', atProvider: null });
}

describe.each(['before', 'after'] as const)('the gateway fails %s it has changed something', (when) => {
  it('while adding: one record stands, and can be removed', async () => {
    const opened = await wanted();
    keeping.gateway.strike = { endpoint: 'addRecord', when };
    await keep();
    expect(await record()).toMatchObject({ state: 'wanted', record_handle: null, failures: 1 });
    await endsWell(opened);
  });

  it('while adding, and the order is deleted before it is tried again: none is left', async () => {
    const opened = await wanted();
    keeping.gateway.strike = { endpoint: 'addRecord', when };
    await keep();
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
  });

  it('while removing: none is left', async () => {
    const opened = await wanted();
    await keep();
    await closePlan(opened);
    keeping.gateway.strike = { endpoint: 'removeRecord', when };
    await keep();
    expect(await record()).toMatchObject({ state: 'unwanted', failures: 1 });
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
  });
});

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  it('while a record is added: one stands, and can be removed, whichever statement it is', async () => {
    let struck = 0;
    for (let nth = 1; ; nth += 1) {
      await freshAccount();
      const opened = await wanted();
      const faulty = new FaultyDatabase(keeping.asWorker, nth, when);
      await keep(faulty.source).catch(() => undefined);
      await endsWell(opened);
      if (!faulty.struck) break;
      struck += 1;
    }
    expect(struck).toBeGreaterThan(8);
  }, 60_000);

  it('while it is removed: none is left, whichever statement it is', async () => {
    let struck = 0;
    for (let nth = 1; ; nth += 1) {
      await freshAccount();
      const opened = await wanted();
      await keep();
      await closePlan(opened);
      const faulty = new FaultyDatabase(keeping.asWorker, nth, when);
      await keep(faulty.source).catch(() => undefined);
      await keep();
      expect(await found()).toEqual({ state: 'removed', atProvider: null });
      if (!faulty.struck) break;
      struck += 1;
    }
    expect(struck).toBeGreaterThan(6);
  }, 60_000);

  it('while it is wanted: it is stored once or not at all, and the next look goes on', async () => {
    for (let nth = 1; ; nth += 1) {
      await freshAccount();
      const opened = await open();
      const faulty = new FaultyDatabase(keeping.asWorker, nth, when);
      await keeping.advance(opened.issuanceId, faulty.source).catch(() => undefined);
      await keeping.timePasses();
      await keeping.advance(opened.issuanceId);
      expect(await keeping.records(accountId)).toHaveLength(1);
      await endsWell(opened);
      if (!faulty.struck) break;
      expect(nth).toBeLessThan(30);
    }
  }, 60_000);
});
