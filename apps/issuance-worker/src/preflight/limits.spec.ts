import { type CaLimitKind, outcomeTime } from '@certwright/issuance';
import { CaLimitBuckets } from '../ca-limits/ca-limit-buckets';
import { type CaLimits, coreDataSource, Transactions } from '@certwright/core-schema';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { authorizationNeeds, limitNeeds } from './limit-needs';
import { preflight, type PreflightQuestion, type PreflightVerdict } from './preflight';
import { byDns, plain } from './testing/fake-resolver';

const hour = 3_600;
const day = 24 * hour;
const limits: CaLimits = {
  newOrders: { count: 300, perS: 3 * hour },
  perRegisteredDomain: { count: 50, perS: 7 * day },
  perNameSet: { count: 5, perS: 7 * day },
  failedAuthorizations: { count: 5, perS: hour },
  replacementsExempt: true,
};
const keysOf = (needs: ReturnType<typeof limitNeeds>) => needs.map(({ kind, key }) => `${kind} ${key}`);

describe('an order takes', () => {
  const names = ['www.example.com', '*.example.com', 'a.example.co.uk', 'b.example.co.uk'];
  const set = keysOf(limitNeeds(names, { perNameSet: { count: 5, perS: day } }, { replaces: false }));

  it('one of the account, one of each registered domain, one of its exact set of names', () => {
    const taken = keysOf(limitNeeds(names, limits, { replaces: false }));
    expect(taken).toEqual([
      'newOrders ',
      'perRegisteredDomain example.com',
      'perRegisteredDomain example.co.uk',
      ...set,
    ]);
  });

  it('the same set in any order of the names', () => {
    const [need = ''] = set;
    expect(need).toMatch(/^perNameSet [0-9a-f]{64}$/);
    const reversed = limitNeeds([...names].reverse(), limits, { replaces: false });
    expect(keysOf(reversed)).toContain(need);
    expect(keysOf(limitNeeds(names.slice(1), limits, { replaces: false }))).not.toContain(need);
  });

  it('nothing that the CA does not limit', () => {
    expect(limitNeeds(names, {}, { replaces: false })).toEqual([]);
    expect(authorizationNeeds(names, {})).toEqual([]);
  });

  it('nothing when it replaces a certificate and the CA exempts replacements', () => {
    expect(limitNeeds(names, limits, { replaces: true })).toEqual([]);
    const { replacementsExempt: _, ...others } = limits;
    expect(limitNeeds(names, others, { replaces: true })).toHaveLength(4);
  });

  it('one failed authorization for a name and its wildcard', () => {
    const taken = keysOf(authorizationNeeds(['example.com', '*.example.com'], limits));
    expect(taken).toEqual(['failedAuthorizations example.com']);
  });
});

describe('a limit of the CA', () => {
  let database: DataSource;
  let buckets: CaLimitBuckets;
  let close: () => Promise<unknown>;
  let caAccounts = 0;

  beforeAll(async () => {
    const test = await testDatabase();
    database = coreDataSource({
      url: test.url,
      applicationName: 'spec',
      poolSize: 20,
      statementTimeoutMs: 10_000,
    });
    await database.initialize();
    close = async () => (await database.destroy(), await test.dispose());
    buckets = new CaLimitBuckets(database, new Transactions(database));
  });
  afterAll(async () => await close());

  async function caAccount(): Promise<string> {
    caAccounts += 1;
    const name = `ca-${caAccounts}`;
    await database.query(`INSERT INTO certificate_authority (name, directory_url) VALUES ($1, $2)`, [
      name,
      `https://${name}.example/dir`,
    ]);
    const [row] = await database.query<[{ id: string }]>(
      `INSERT INTO ca_account (authority, state, key_sealed) VALUES ($1, 'new', '\\x00') RETURNING id`,
      [name],
    );
    return row.id;
  }
  const order = async (caAccountId: string, also: Partial<PreflightQuestion> & { limits: CaLimits }) => {
    const authority = { ...plain.authority, caaDomains: [], limits: also.limits };
    const question = { ...plain, ...also, caAccountId, authority };
    const lookUp = async () => await Promise.reject(new Error('CAA is left to the CA'));
    return await preflight(question, { lookUp, buckets });
  };

  it.each<[string, CaLimits, CaLimitKind, string]>([
    ['the account', { newOrders: { count: 2, perS: 3 * hour } }, 'newOrders', ''],
    [
      'a registered domain',
      { perRegisteredDomain: { count: 2, perS: 7 * day } },
      'perRegisteredDomain',
      'example.com',
    ],
    ['an exact set of names', { perNameSet: { count: 2, perS: 7 * day } }, 'perNameSet', ''],
  ])('per %s delays an order, and reports the limit and the time', async (_, only, kind, key) => {
    const id = await caAccount();
    // Different accounts of ours: the remaining new orders are shared fairly among them.
    expect(await order(id, { limits: only, accountId: '1' })).toMatchObject({ kind: 'ready' });
    expect(await order(id, { limits: only, accountId: '2' })).toMatchObject({ kind: 'ready' });
    const verdict = await order(id, { limits: only, accountId: '3' });
    if (verdict.kind !== 'wait') throw new Error(verdict.kind);
    const [limit] = Object.values(only);
    const waitS = (verdict.until.getTime() - Date.now()) / 1_000;
    expect(waitS).toBeGreaterThan((limit as { perS: number }).perS / 2 - 60);
    expect(waitS).toBeLessThanOrEqual((limit as { perS: number }).perS / 2 + 1);
    expect(verdict.error).toEqual({
      code: 'rate_limited',
      outcome: {
        ...{ code: 'ca_limit_reached', authority: 'good-ca', limit: kind, key },
        ...{ size: limit, isShared: false, until: outcomeTime(verdict.until) },
      },
    });
  });

  it('does not delay orders for other domains, and takes nothing for a waiting one', async () => {
    const id = await caAccount();
    const both = { perRegisteredDomain: { count: 1, perS: day }, newOrders: { count: 100, perS: day } };
    await order(id, { limits: both });
    for (let again = 0; again < 5; again += 1) {
      expect(await order(id, { limits: both })).toMatchObject({ kind: 'wait' });
    }
    expect(await order(id, { limits: both, names: byDns('www.example.net') })).toMatchObject({
      kind: 'ready',
    });
    const [bucket] = await database.query<[{ spent: number }]>(
      `SELECT spent FROM ca_limit_bucket WHERE ca_account_id = $1 AND kind = 'newOrders'`,
      [id],
    );
    expect(bucket.spent).toBeCloseTo(2, 1);
  });

  it('is never exceeded by concurrent orders', async () => {
    const id = await caAccount();
    const only = { perRegisteredDomain: { count: 5, perS: day } };
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, async () => await order(id, { limits: only })),
    );
    expect(verdicts.filter(({ kind }) => kind === 'ready')).toHaveLength(5);
  });

  it('admits an order that replaces a certificate if the CA exempts replacements', async () => {
    const id = await caAccount();
    const only = { newOrders: { count: 1, perS: day }, replacementsExempt: true };
    await order(id, { limits: only });
    expect(await order(id, { limits: only })).toMatchObject({ kind: 'wait' });
    expect(await order(id, { limits: only, replaces: true })).toEqual({ kind: 'ready', taken: [] });
  });

  it('of failed authorizations is taken by failures only', async () => {
    const id = await caAccount();
    const only = { failedAuthorizations: { count: 2, perS: hour }, newOrders: { count: 1_000, perS: hour } };
    for (let count = 0; count < 5; count += 1) {
      expect(await order(id, { limits: only })).toMatchObject({ kind: 'ready' });
    }
    const failed = authorizationNeeds(['www.example.com'], only);
    for (let failures = 0; failures < 2; failures += 1) await buckets.take(id, failed, '1');
    expect(await order(id, { limits: only })).toMatchObject({
      kind: 'wait',
      error: {
        outcome: {
          limit: 'failedAuthorizations',
          key: 'www.example.com',
          size: { count: 2, perS: hour },
          isShared: false,
        },
      },
    });
    expect(await order(id, { limits: only, names: byDns('example.com') })).toMatchObject({ kind: 'ready' });
  });

  it('of failed authorizations delays an order also when it is the only one', async () => {
    const id = await caAccount();
    const only = { failedAuthorizations: { count: 1, perS: hour } };
    expect(await order(id, { limits: only })).toMatchObject({ kind: 'ready' });
    await buckets.take(id, authorizationNeeds(['www.example.com'], only), '1');
    expect(await order(id, { limits: only })).toMatchObject({
      kind: 'wait',
      error: { outcome: { limit: 'failedAuthorizations', key: 'www.example.com' } },
    });
  });

  it('of failed authorizations does not delay concurrent orders of a name that has not failed', async () => {
    const id = await caAccount();
    const only = { failedAuthorizations: { count: 2, perS: hour }, newOrders: { count: 1_000, perS: hour } };
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, async () => await order(id, { limits: only })),
    );
    expect(verdicts.map(({ kind }) => kind)).toEqual(verdicts.map(() => 'ready'));
  });

  it('reports that it is reserved for other accounts', async () => {
    const [one, other] = ['3000001', '3000002'];
    await database.query(`INSERT INTO account (id, name) VALUES ($1, 'One'), ($2, 'Other')`, [one, other]);
    const id = await caAccount();
    const only = { newOrders: { count: 4, perS: day } };
    const verdicts: PreflightVerdict[] = [];
    // Half of it, or one more because of refills meanwhile.
    for (let count = 0; count < 4; count += 1) {
      verdicts.push(await order(id, { limits: only, accountId: one }));
    }
    expect(verdicts.find(({ kind }) => kind === 'wait')).toMatchObject({
      error: { outcome: { limit: 'newOrders', isShared: true } },
    });
    expect(await order(id, { limits: only, accountId: other })).toMatchObject({ kind: 'ready' });
  });
});
