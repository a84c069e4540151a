import { CoreDatabaseFixture } from '@certwright/core-testing';
import { HttpChallenges } from './http-challenges';
import { WebRules } from './web-rules';

const [tenantA, tenantB, tenantWithoutRule] = ['1000000000001', '1000000000002', '1000000000003'];
const secretA = 'a'.repeat(32);
const secretB = 'b'.repeat(32);

let core: CoreDatabaseFixture;
let rules: WebRules;
let challenges: HttpChallenges;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  rules = new WebRules(core.database);
  challenges = new HttpChallenges(core.database);
  for (const account of [tenantA, tenantB, tenantWithoutRule]) await core.account(account);
  await rules.ensure(tenantA, () => secretA);
  await rules.ensure(tenantB, () => secretB);
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('DELETE FROM http_challenge'));

const fresh = (letter: string) => ({ token: letter.repeat(27), content: `content-${letter}` });
const age = async (interval: string) =>
  await core.database.query(`UPDATE http_challenge SET expires_at = expires_at - $1::interval`, [interval]);

describe('the rule of an account', () => {
  it('keeps its secret for ever, since servers point to it', async () => {
    expect(await rules.ensure(tenantA, () => 'z'.repeat(32))).toBe(secretA);
    expect(await rules.ofAccount(tenantA)).toBe(secretA);
    expect(await rules.ofAccount(tenantWithoutRule)).toBeNull();
  });

  it('has one secret, also when it is first requested twice at once', async () => {
    const account = await core.account('1000000000004');
    const secrets = ['c', 'd', 'e', 'f'].map((letter) => rules.ensure(account, () => letter.repeat(32)));
    expect(new Set(await Promise.all(secrets)).size).toBe(1);
  });
});

describe('the challenge of a name', () => {
  it('is reused while it is fresh, and then replaced by another one', async () => {
    const first = await challenges.open(tenantA, 'a.example.com', fresh('1'));
    expect(first).toEqual(fresh('1'));
    expect(await challenges.open(tenantA, 'a.example.com', fresh('2'))).toEqual(first);
    await age('9 min 30 s');
    expect(await challenges.open(tenantA, 'a.example.com', fresh('3'))).toEqual(fresh('3'));
    expect(await challenges.answerFor(secretA, fresh('1').token)).toBeNull();
  });

  it('is not made for an account without a rule: no server could return it', async () => {
    expect(await challenges.open(tenantWithoutRule, 'a.example.com', fresh('1'))).toBeNull();
  });

  it('is served only through the rule of its own account', async () => {
    await challenges.open(tenantA, 'a.example.com', fresh('1'));
    await challenges.open(tenantB, 'a.example.com', fresh('2'));
    expect(await challenges.answerFor(secretA, fresh('1').token)).toEqual({
      dnsName: 'a.example.com',
      content: 'content-1',
    });
    expect(await challenges.answerFor(secretB, fresh('1').token)).toBeNull();
    expect(await challenges.answerFor(secretA, fresh('2').token)).toBeNull();
  });

  it('is not served after it expires, and then deleted', async () => {
    await challenges.open(tenantA, 'a.example.com', fresh('1'));
    await challenges.forgetExpired();
    expect(await challenges.answerFor(secretA, fresh('1').token)).not.toBeNull();
    await age('10 min');
    expect(await challenges.answerFor(secretA, fresh('1').token)).toBeNull();
    await challenges.forgetExpired();
    expect(await core.database.query('SELECT token FROM http_challenge')).toEqual([]);
  });
});
