import { CoreDatabaseFixture } from '@certwright/core-testing';
import { WebRules } from '../web-rules/web-rules';
import { type ChallengeRecord, Challenges } from './challenges';

const [mine, theirs] = ['1000000000001', '1000000000002'] as const;
const dnsName = 'www.example.com';
const label = (letter: string) => letter.repeat(32);
const value = (letter: string) => letter.repeat(43);

let core: CoreDatabaseFixture;
let challenges: Challenges;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  challenges = new Challenges(core.database);
  for (const [account, letter] of [
    [mine, 'm'],
    [theirs, 't'],
  ] as const) {
    await core.account(account);
    await core.transactions.run(
      async (tx) => await core.delegations.ensure(tx, account, [dnsName], () => label(letter)),
    );
  }
});
afterAll(async () => await core.close());
beforeEach(async () => {
  for (const table of ['challenge_record', 'challenge_file'])
    await core.database.query(`DELETE FROM ${table}`);
  await core.database.query(`UPDATE delegation SET retired_at = NULL`);
});

const ours = (letter: string): ChallengeRecord => {
  return { label: label('m'), value: value(letter), accountId: mine, dnsName };
};
const others = (letter: string): ChallengeRecord => {
  return { label: label('t'), value: value(letter), accountId: theirs, dnsName };
};
const retire = async (account: string) =>
  await core.database.query(`UPDATE delegation SET retired_at = now() WHERE account_id = $1`, [account]);
const expire = async (table: string) =>
  await core.database.query(`UPDATE ${table} SET expires_at = now() - interval '1 s'`);

describe('at the target of a standing record', () => {
  it('each of two tenants with the same name has its own values', async () => {
    await challenges.publishRecords([ours('b'), ours('a'), others('c')]);
    expect(await challenges.atTarget(label('m'))).toEqual([value('a'), value('b')]);
    expect(await challenges.atTarget(label('t'))).toEqual([value('c')]);
  });

  it('a value at the label of another account is refused, and the others with it', async () => {
    const foreign = { ...ours('x'), label: label('t') };
    await expect(challenges.publishRecords([ours('a'), foreign])).rejects.toThrow('the label of its account');
    expect(await challenges.atTarget(label('m'))).toEqual([]);
    expect(await challenges.atTarget(label('t'))).toEqual([]);
  });

  it('is null when no account has the label, or it is retired; and empty without values', async () => {
    expect(await challenges.atTarget(label('n'))).toBeNull();
    expect(await challenges.atTarget(label('m'))).toEqual([]);
    await challenges.publishRecords([ours('a')]);
    await retire(mine);
    expect(await challenges.atTarget(label('m'))).toBeNull();
  });

  it('publishing twice extends the lifetime, withdrawing twice is no error', async () => {
    await challenges.publishRecords([ours('a'), ours('a')]);
    await expire('challenge_record');
    expect(await challenges.atTarget(label('m'))).toEqual([]);
    await challenges.publishRecords([ours('a')]);
    expect(await challenges.atTarget(label('m'))).toEqual([value('a')]);
    await challenges.withdrawRecords([ours('a')]);
    await challenges.withdrawRecords([ours('a'), ours('b')]);
    expect(await challenges.atTarget(label('m'))).toEqual([]);
  });

  it('the same value of two tenants is withdrawn from only one of them', async () => {
    await challenges.publishRecords([ours('a'), others('a')]);
    await challenges.withdrawRecords([ours('a')]);
    expect(await challenges.atTarget(label('t'))).toEqual([value('a')]);
  });
});

describe('the values at a delegated name', () => {
  it('are those of all tenants that name it', async () => {
    await challenges.publishRecords([ours('a'), others('b'), others('a')]);
    expect(await challenges.ofName(dnsName)).toEqual([value('a'), value('b')]);
  });

  it('exclude those of a tenant that no longer names it, and expired ones', async () => {
    await challenges.publishRecords([ours('a')]);
    await expire('challenge_record');
    await challenges.publishRecords([others('b')]);
    expect(await challenges.ofName(dnsName)).toEqual([value('b')]);
    await retire(theirs);
    expect(await challenges.ofName(dnsName)).toEqual([]);
    await retire(mine);
    expect(await challenges.ofName(dnsName)).toBeNull();
    expect(await challenges.ofName('other.example.com')).toBeNull();
  });
});

describe('through a web server rule', () => {
  const file = (accountId: string, content: string) => ({ token: 'token', content, accountId, dnsName });

  it('a token is only served for the account of the rule, until it expires', async () => {
    const rules = new WebRules(core.database);
    const [secret, other] = [
      await rules.ensure(mine, () => label('r')),
      await rules.ensure(theirs, () => label('s')),
    ];
    await challenges.publishFiles([file(mine, 'token.mine'), file(mine, 'token.mine')]);
    expect(await challenges.fileFor(secret, 'token')).toEqual({ dnsName, content: 'token.mine' });
    expect(await challenges.fileFor(other, 'token')).toBeNull();
    await challenges.publishFiles([file(theirs, 'token.theirs')]);
    await challenges.withdrawFiles([file(mine, '')]);
    expect(await challenges.fileFor(secret, 'token')).toBeNull();
    expect(await challenges.fileFor(other, 'token')).toMatchObject({ content: 'token.theirs' });
    await expire('challenge_file');
    expect(await challenges.fileFor(other, 'token')).toBeNull();
  });
});

it('expired challenges are deleted', async () => {
  await challenges.publishRecords([ours('a')]);
  await challenges.publishFiles([{ token: 'old', content: 'old.x', accountId: mine, dnsName }]);
  await expire('challenge_record');
  await expire('challenge_file');
  await challenges.publishRecords([ours('b')]);
  await challenges.forgetExpired();
  const rows: unknown[] = await core.database.query(
    `SELECT value FROM challenge_record UNION ALL SELECT token FROM challenge_file`,
  );
  expect(rows).toEqual([{ value: value('b') }]);
});
