import { randomBytes } from 'node:crypto';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { Accounts, AccountUsers } from './accounts';
import { ApiCredentials } from './api-credentials';
import { ApiKeys } from './api-keys';

const [one, other] = ['1000000000001', '1000000000002'];

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  for (const account of [one, other]) await core.account(account);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`DELETE FROM api_credential`);
  await core.database.query(`DELETE FROM api_key`);
  await core.database.query(`DELETE FROM account_user`);
  await core.database.query(`UPDATE account SET disabled_at = NULL`);
});

describe('a user', () => {
  const create = async (email: string, account = one) =>
    await core.database.query(
      `INSERT INTO account_user (account_id, email, password_hash) VALUES ($1, $2, 'h')`,
      [account, email],
    );

  it('is found by the email address, with its account and the hash of its password', async () => {
    await create('a@example.com');
    await create('b@example.com', other);
    const users = new AccountUsers(core.database);
    expect(await users.find('b@example.com')).toEqual({
      userId: expect.stringMatching(/^\d+$/),
      accountId: other,
      passwordHash: 'h',
      disabled: false,
    });
    expect(await users.find('c@example.com')).toBeNull();
  });

  it.each(['account_user', 'account'])('is disabled when its %s is', async (table) => {
    await create('a@example.com');
    await core.database.query(`UPDATE ${table} SET disabled_at = now()`);
    expect(await new AccountUsers(core.database).find('a@example.com')).toMatchObject({ disabled: true });
  });
});

describe('an API key', () => {
  it('is found by its digest, disabled when it or its account is; many that do not exist take few statements', async () => {
    const digests = [randomBytes(32), randomBytes(32), randomBytes(32)];
    const insert = `INSERT INTO api_key (account_id, label, secret_sha256, permissions, disabled_at)
      VALUES ($1, 'spec', $2, '{View}', $3)`;
    await core.database.query(insert, [one, digests[0], null]);
    await core.database.query(insert, [one, digests[1], new Date()]);
    await core.database.query(insert, [other, digests[2], null]);
    await core.database.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [other]);
    const keys = new ApiKeys(core.database);
    const query = jest.spyOn(core.database, 'query');
    const unknown = Array.from({ length: 500 }, async () => await keys.find(randomBytes(32)));
    const known = await Promise.all(digests.map(async (digest) => await keys.find(digest)));
    expect(known).toEqual([
      { keyId: expect.stringMatching(/^\d+$/), accountId: one, permissions: ['View'], disabled: false },
      expect.objectContaining({ accountId: one, disabled: true }),
      expect.objectContaining({ accountId: other, disabled: true }),
    ]);
    expect(new Set(await Promise.all(unknown))).toEqual(new Set([null]));
    expect(query.mock.calls.length).toBeLessThan(20);
    query.mockRestore();
  });
});

describe('the API key that users may ask for again', () => {
  let minted = 0;
  const credentials = () => new ApiCredentials(core.database, core.transactions);
  const minting = {
    opens: (sealed: Buffer) => !sealed.toString().startsWith('broken'),
    mint: () => {
      minted += 1;
      return {
        label: 'spec',
        permissions: ['Full Access'],
        secretSha256: randomBytes(32),
        keySealed: Buffer.from(`sealed ${minted}`),
      };
    },
  };
  const keys = async () =>
    await core.database.query(
      `SELECT account_id, label, permissions, disabled_at IS NULL AS enabled, id = api_key_id AS "isCurrent"
       FROM api_key JOIN api_credential USING (account_id) ORDER BY id`,
    );

  it('is minted once, however many ask at the same time', async () => {
    const asked = await Promise.all(Array.from({ length: 8 }, () => credentials().ensure(one, minting)));
    expect(new Set(asked.map(String)).size).toBe(1);
    expect(await keys()).toEqual([
      { account_id: one, label: 'spec', permissions: ['Full Access'], enabled: true, isCurrent: true },
    ]);
    expect(String(await credentials().ensure(one, minting))).toBe(String(asked[0]));
  });

  it('is each account’s own', async () => {
    const mine = await credentials().ensure(one, minting);
    expect(await credentials().ensure(other, minting)).not.toEqual(mine);
    expect(await credentials().ensure(one, minting)).toEqual(mine);
  });

  it('is replaced when it was disabled', async () => {
    const first = await credentials().ensure(one, minting);
    await core.database.query(`UPDATE api_key SET disabled_at = now()`);
    const second = await credentials().ensure(one, minting);
    expect(second).not.toEqual(first);
    expect(await credentials().ensure(one, minting)).toEqual(second);
    expect(await keys()).toMatchObject([
      { enabled: false, isCurrent: false },
      { enabled: true, isCurrent: true },
    ]);
  });

  it('is replaced when it can no longer be opened; the old one stays valid', async () => {
    await credentials().ensure(one, minting);
    await core.database.query(`UPDATE api_credential SET key_sealed = 'broken'`);
    const asked = await Promise.all(Array.from({ length: 4 }, () => credentials().ensure(one, minting)));
    expect(new Set(asked.map(String)).size).toBe(1);
    expect(await keys()).toMatchObject([
      { enabled: true, isCurrent: false },
      { enabled: true, isCurrent: true },
    ]);
  });
});

describe('an account', () => {
  it('changes what is given of its distinguished name, and leaves the rest', async () => {
    const accounts = new Accounts(core.database);
    const nothing = { country: null, state: null, locality: null, organization: null };
    const mailSettings = { mailWhenIssued: true, mailWhenRevoked: true };
    expect(await accounts.get(one)).toEqual({
      id: one,
      name: 'Spec',
      contactEmail: null,
      ...nothing,
      ...mailSettings,
    });
    await accounts.changeSubject(one, { country: 'GB', locality: 'London', organization: 'Ä & Söhne' });
    expect(await accounts.changeSubject(one, { locality: null, state: 'England' })).toEqual(
      await accounts.get(one),
    );
    expect(await accounts.get(one)).toMatchObject({
      ...nothing,
      country: 'GB',
      state: 'England',
      organization: 'Ä & Söhne',
    });
    expect(await accounts.get(other)).toMatchObject(nothing);
  });
});
