import { neutralMessage } from '@certwright/outcome-messages';
import { caAccount } from '../testing/ca-accounts';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { CaAccounts } from './ca-accounts';
import { CertificateAuthorities } from './certificate-authorities';

const key = (text: string) => Buffer.from(text);

let core: CoreDatabaseFixture;
let accounts: CaAccounts;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  accounts = new CaAccounts(core.database);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`DELETE FROM ca_account`);
  await new CertificateAuthorities(core.database).create({
    name: 'one',
    directoryUrl: 'https://one.example/',
  });
});

it('two concurrent workers share one key', async () => {
  const begun = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => await accounts.begin('one', key(`key ${index}`))),
  );
  expect(new Set(begun.map(({ id }) => id)).size).toBe(1);
  expect(new Set(begun.map(({ keySealed }) => keySealed.toString())).size).toBe(1);
  expect(await accounts.ofAuthority('one')).toMatchObject({ state: 'new', accountUrl: null });
});

it('is a new one with a new key after one has ended', async () => {
  const first = await accounts.begin('one', key('first'));
  await accounts.end(first.id);
  await accounts.opened(first.id, 'https://one.example/account/1');
  expect(await accounts.ofAuthority('one')).toBeNull();
  const second = await accounts.begin('one', key('second'));
  expect(second.keySealed.toString()).toBe('second');
  expect((await accounts.byId(first.id))?.state).toBe('ended');
});

it('is denied for as long as the CA denies it without a long break', async () => {
  const id = await caAccount(core, 'one');
  const denials = async (sinceS: number, lastS: number) => {
    await core.database.query(
      `UPDATE ca_account SET denied_since = now() - $2 * interval '1 s', denied_at = now() - $3 * interval '1 s' WHERE id = $1`,
      [id, sinceS, lastS],
    );
    return await accounts.denied(id, 60_000);
  };
  expect(await accounts.denied(id, 60_000)).toBe(0);
  expect((await denials(100, 50)) / 1_000).toBeCloseTo(100, -1);
  expect(await denials(100, 70)).toBe(0);
  await denials(100, 50);
  await accounts.known(id);
  expect(await accounts.denied(id, 60_000)).toBe(0);
});

describe('a change of key', () => {
  let id: string;
  beforeEach(async () => void (id = await caAccount(core, 'one')));
  const stored = async () => await accounts.byId(id);

  it('is claimed by one worker, and by another one when that worker dies', async () => {
    expect(await accounts.takeRollover(60_000)).toBeNull();
    expect(await accounts.requestRollover('one')).toBe(true);
    expect(await accounts.takeRollover(0)).toMatchObject({ id, nextKeySealed: null });
    const taken = await Promise.all(
      Array.from({ length: 5 }, async () => await accounts.takeRollover(60_000)),
    );
    expect(taken.filter((one) => one !== null)).toHaveLength(1);
  });

  it('is requested only for a valid account', async () => {
    expect(await accounts.requestRollover('unknown')).toBe(false);
    await accounts.end(id);
    expect(await accounts.requestRollover('one')).toBe(false);
    await expect(accounts.beginRollover(id, key('next'))).rejects.toThrow('only the key of a valid account');
  });

  it('keeps the first next key until the CA has reported the valid one', async () => {
    const first = await accounts.beginRollover(id, key('next'));
    expect((await accounts.beginRollover(id, key('another'))).equals(first)).toBe(true);
    expect((await accounts.takeRollover(60_000))?.nextKeySealed?.toString()).toBe('next');
    expect(await accounts.finishRollover(id, first, 'next')).toBe(true);
    expect(await stored()).toMatchObject({
      keySealed: key('next'),
      nextKeySealed: null,
      rolloverDueAt: null,
    });
    expect(await accounts.takeRollover(0)).toBeNull();
  });

  it('leaves the key unchanged when the CA rejects it', async () => {
    const before = (await stored())?.keySealed;
    await accounts.finishRollover(id, await accounts.beginRollover(id, key('next')), 'former');
    expect(await stored()).toMatchObject({ keySealed: before, nextKeySealed: null });
  });

  it('does not activate a later key when another worker has finished it', async () => {
    const first = await accounts.beginRollover(id, key('next'));
    await accounts.finishRollover(id, first, 'next');
    await accounts.beginRollover(id, key('after next'));
    expect(await accounts.finishRollover(id, first, 'next')).toBe(false);
    expect((await stored())?.keySealed.toString()).toBe('next');
  });
});

it('a CA is down since the first error until it is up again, and keeps its next probe', async () => {
  const authorities = new CertificateAuthorities(core.database);
  const problem = { code: 'ca_unreachable', authority: 'one', detail: 'No answer' } as const;
  const outage = { scope: 'new_orders', problem } as const;
  expect(await authorities.markDown('one', outage, { probeInMs: 60_000 })).toBe(true);
  const first = (await authorities.byName()).get('one');
  const outcome = { ...problem, detail: 'Still none' };
  const still = { scope: null, problem: outcome } as const;
  expect(await authorities.markDown('one', still, { probeInMs: 90_000 })).toBe(false);
  const { downSince, downUntil } = first ?? {};
  expect(downSince).toBeInstanceOf(Date);
  const expected = { downSince, downUntil, downFor: 'new_orders', outcome };
  expect(neutralMessage(outcome)).toBe((await authorities.byName()).get('one')?.problem);
  expect((await authorities.byName()).get('one')).toMatchObject(expected);
  // The CA sends a longer Retry-After.
  await authorities.markDown('one', still, { probeInMs: 0, notBeforeMs: 120_000 });
  const later = (await authorities.byName()).get('one');
  expect(later?.downUntil?.getTime()).toBeGreaterThan((downUntil ?? new Date()).getTime());
  expect(await authorities.markUp('one')).toBe(true);
  const up = { downSince: null, downUntil: null, downFor: null, problem: null, outcome: null };
  expect((await authorities.byName()).get('one')).toMatchObject(up);
  expect(await authorities.markUp('one')).toBe(false);
});

it('one probe of a CA that is down is claimed per interval', async () => {
  const [one, other] = [core.database, core.database].map((database) => new CertificateAuthorities(database));
  expect(await one?.claimProbe('one', 60_000)).toBe(false);
  await one?.markDown(
    'one',
    { scope: null, problem: { code: 'ca_attempt_ended', authority: 'one' } },
    { probeInMs: 0 },
  );
  const claims = await Promise.all([one, other].map(async (each) => await each?.claimProbe('one', 60_000)));
  expect(claims.sort()).toEqual([false, true]);
  await one?.markUp('one');
});

it('a CA is created once and updated when it exists', async () => {
  const authorities = new CertificateAuthorities(core.database);
  expect(await authorities.create({ name: 'one', directoryUrl: 'https://other.example/' })).toBe(false);
  expect(await authorities.change('one', { enabled: false })).toBe(true);
  expect((await authorities.byName()).get('one')).toMatchObject({
    enabled: false,
    directoryUrl: 'https://one.example/',
  });
  expect(await authorities.change('unknown', { enabled: false })).toBe(false);
});
