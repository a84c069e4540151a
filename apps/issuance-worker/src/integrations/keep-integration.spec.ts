import { setTimeout as delay } from 'node:timers/promises';
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
  gateway.requests.length = 0;
  gateway.strike = null;
  gateway.rotates = false;
  gateway.reaches = ['127.0.0.2', '127.0.0.3'];
  gateway.set(fqdn, null);
  integration = await keeping.integration(accountId, ['example.com']);
}

const open = async () => await openIssuance(keeping.issuing.repositories, [name], csr, accountId);

/** An order that requires a record. */
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
const standingRecord = async () => {
  const { target } = await record();
  return { state: 'standing', atProvider: target };
};
const found = async () => ({
  state: (await record()).state,
  atProvider: keeping.gateway.records.get(fqdn) ?? null,
});

describe('a required record', () => {
  it('is added, and counts as standing once every authoritative server returns it', async () => {
    await wanted();
    keeping.gateway.reaches = ['127.0.0.2'];
    await keep();
    expect(await record()).toMatchObject({ state: 'wanted', failures: 0 });
    expect((await record()).problem).toMatch(/^ns3\.dns\.test .* does not respond with the record yet/);
    keeping.gateway.arrive();
    await keep();
    expect(await found()).toEqual(await standingRecord());
    expect(keeping.gateway.requests).toEqual([`add ${fqdn}`]);
  });

  it('that already exists is not added, and is kept when it is no longer required', async () => {
    const opened = await wanted();
    const { target } = await record();
    keeping.gateway.set(fqdn, target);
    await keep();
    expect((await record()).state).toBe('standing');
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: target });
    expect(keeping.gateway.requests).toEqual([]);
  });

  it('is dropped without a gateway request when it was never attempted', async () => {
    await closePlan(await wanted());
    await keep();
    expect((await record()).state).toBe('removed');
    expect(keeping.gateway.requests).toEqual([]);
  });

  it('replaces an existing record', async () => {
    await wanted();
    keeping.gateway.set(fqdn, 'elsewhere.example.net');
    await keep();
    expect(await found()).toEqual(await standingRecord());
  });
});

describe('a published record', () => {
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
    expect(await found()).toEqual(await standingRecord());
  });

  it('is not changed when something else replaced it, until a new issuance requires it', async () => {
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
    expect(await found()).toEqual(await standingRecord());
  });

  it('is not changed when something else replaced it, until the order is posted again', async () => {
    const { issuanceId, planId } = await stood();
    keeping.gateway.set(fqdn, 'elsewhere.example.net');
    await keeping.advance(issuanceId);
    await keep();
    const { database } = keeping.issuing;
    const { transactions } = keeping.issuing.repositories;
    const wakeUps = new IssuanceWakeUps(database, new Outbox(database));
    await transactions.run(async (tx) => await wakeUps.wakePlan(tx, planId));
    await keep();
    expect(await found()).toEqual(await standingRecord());
  });

  it('is removed when its order is deleted, but a foreign record at its name is not', async () => {
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

  it('moves to another integration when its own is deleted, even if its provider refuses the credentials', async () => {
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
    expect(await found()).toEqual(await standingRecord());
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

  it('is failing while its credentials are refused; its other records are not tried', async () => {
    const names = ['a.example.com', 'b.example.com', 'c.example.com'];
    const many = await openIssuance(keeping.issuing.repositories, names, opensslCsr(names), accountId);
    await keeping.advance(many.issuanceId);
    keeping.gateway.strike = { endpoint: 'addRecord', when: 'before', fault: refused };
    await keep();
    expect(keeping.gateway.requests).toHaveLength(1);
    expect(await stateOf(integration)).toMatchObject({ state: 'failing', problem: refused.message });
    for (const row of await keeping.records(accountId)) {
      expect(row).toMatchObject({ state: 'wanted', failures: 1, problem: refused.message });
    }
    await keep();
    expect(await stateOf(integration)).toMatchObject({ state: 'ok', problem: null });
    expect((await keeping.records(accountId)).map(({ state }) => state)).toEqual(Array(3).fill('standing'));
    for (const each of names) keeping.gateway.set(`_acme-challenge.${each}`, null);
  });

  it('is called later when it requests a delay', async () => {
    await wanted();
    const fault = new GatewayFault('provider_rate_limited', 'Too many.', { retryAfterS: 900 });
    keeping.gateway.strike = { endpoint: 'addRecord', when: 'before', fault };
    await keep();
    expect((await record()).waits_s).toBeGreaterThan(890);
  });

  it('continues when its handle changes with every response', async () => {
    keeping.gateway.rotates = true;
    const opened = await wanted();
    await keep();
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
    expect((await stateOf(integration))?.['handle']).toMatch(/^handle \d+ of/);
  });

  it('stores the handle of an error response', async () => {
    await wanted();
    const fault = new GatewayFault('provider_unavailable', 'Unavailable.', {
      integration: 'brought by an error',
    });
    keeping.gateway.strike = { endpoint: 'addRecord', when: 'before', fault };
    await keep();
    expect(await stateOf(integration)).toMatchObject({ handle: 'brought by an error', leased_until: null });
  });

  it('lists its zones again when no zone contains a name, and wakes the issuance of the name', async () => {
    keeping.zonesAre(integration, []);
    await keeping.database.query(`DELETE FROM dns_integration_zone WHERE integration_id = $1`, [integration]);
    await keeping.database.query(`UPDATE dns_integration SET checked_at = now() - interval '2 minutes'`);
    const opened = await wanted();
    expect(await keeping.records(accountId)).toEqual([]);
    keeping.zonesAre(integration, ['example.com']);
    await keep();
    expect(keeping.gateway.requests).toEqual(['zones']);
    await keeping.advance(opened.issuanceId);
    await keep();
    expect(await found()).toEqual(await standingRecord());
  });

  it('reports why its zones cannot be listed, and is retried with back-off', async () => {
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

  it('is released after a database outage ended its turn', async () => {
    await wanted();
    const severable = await severableDatabase(keeping.issuing.databaseUrl);
    const { gateway } = keeping;
    const adding = jest.spyOn(gateway, 'addRecord').mockImplementationOnce(async () => {
      severable.link.cut();
      return await Promise.reject(new GatewayFault('unreachable', 'Unavailable.'));
    });
    try {
      await expect(keep(severable.source)).rejects.toThrow();
      severable.link.restore();
      await eventually(async () => expect(await stateOf(integration)).toMatchObject({ leased_until: null }));
    } finally {
      adding.mockRestore();
      await severable.close();
    }
    await keep();
    expect(await found()).toEqual(await standingRecord());
  });

  it('keeps a handle that came during a database outage: the provider accepts no other one', async () => {
    keeping.gateway.rotates = true;
    await wanted();
    const severable = await severableDatabase(keeping.issuing.databaseUrl);
    const { gateway } = keeping;
    const add = gateway.addRecord.bind(gateway);
    const adding = jest.spyOn(gateway, 'addRecord').mockImplementationOnce(async (about) => {
      const added = await add(about);
      severable.link.cut();
      setTimeout(() => severable.link.restore(), 500);
      return added;
    });
    try {
      await keep(severable.source).catch(() => undefined);
    } finally {
      adding.mockRestore();
      await severable.close();
    }
    await keep();
    expect(await stateOf(integration)).toMatchObject({ problem: null, leased_until: null });
    expect(await found()).toEqual(await standingRecord());
  });

  it('keeps a handle that came while the disk of the database was full', async () => {
    keeping.gateway.rotates = true;
    await wanted();
    const { gateway, issuing } = keeping;
    const add = gateway.addRecord.bind(gateway);
    let emptied: Promise<unknown> | undefined;
    const adding = jest.spyOn(gateway, 'addRecord').mockImplementationOnce(async (about) => {
      const added = await add(about);
      await issuing.database.query(
        `CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER disk_full BEFORE UPDATE ON dns_integration EXECUTE FUNCTION disk_full()`,
      );
      emptied = delay(500).then(async () => await issuing.database.query(`DROP FUNCTION disk_full CASCADE`));
      return added;
    });
    try {
      await keep().catch(() => undefined);
    } finally {
      adding.mockRestore();
    }
    await emptied;
    await keep();
    expect(await stateOf(integration)).toMatchObject({ problem: null, leased_until: null });
    expect(await found()).toEqual(await standingRecord());
  });

  it('is processed by one worker at a time', async () => {
    await wanted();
    await keeping.timePasses();
    await Promise.all([keeping.keep(integration), keeping.keep(integration), keeping.keep(integration)]);
    expect(keeping.gateway.requests).toEqual([`add ${fqdn}`]);
    expect(await found()).toEqual(await standingRecord());
  });
});

describe('two tenants with the same host name', () => {
  it('get separate records; the later one replaces the earlier, and neither removes the other’s', async () => {
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
    expect(await found()).toEqual(await standingRecord());
    await closePlan(theirs.opened);
    await keeping.timePasses();
    await keeping.keep(theirs.integration);
    expect((await keeping.records(theirs.accountId)).map(({ state }) => state)).toEqual(['removed']);
    expect(await found()).toEqual(await standingRecord());
  });
});

/** The outcome in every case: one record, which is known and can be removed. */
async function endsWell(opened: OpenedIssuance): Promise<void> {
  await keep();
  expect(await found()).toEqual(await standingRecord());
  await closePlan(opened);
  await keep();
  expect(await found()).toEqual({ state: 'removed', atProvider: null });
}

describe.each(['before', 'after'] as const)('the gateway fails %s it has changed something', (when) => {
  it('while adding: one record exists, and can be removed', async () => {
    const opened = await wanted();
    keeping.gateway.strike = { endpoint: 'addRecord', when };
    await keep();
    expect(await record()).toMatchObject({ state: 'wanted', record_handle: null, failures: 1 });
    await endsWell(opened);
  });

  it('while adding, and the order is deleted before the retry: no record is left', async () => {
    const opened = await wanted();
    keeping.gateway.strike = { endpoint: 'addRecord', when };
    await keep();
    await closePlan(opened);
    await keep();
    expect(await found()).toEqual({ state: 'removed', atProvider: null });
  });

  it('while removing: no record is left', async () => {
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
  it('while a record is added: one exists, and can be removed, for every statement', async () => {
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

  it('while it is removed: no record is left, for every statement', async () => {
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

  it('while it is requested: it is stored at most once, and the next check continues', async () => {
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
