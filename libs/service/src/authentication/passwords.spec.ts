import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Guess, type KnownUser, Passwords } from './passwords';

const user: KnownUser = { userId: '7', accountId: '42', passwordHash: 'right', disabled: false };
const looked: Guess = (check) => check();
const credentials = (password: string, userName = 'a@example.com') =>
  ({ kind: 'password', userName, password }) as const;

/** A check that ends on demand; the hash is the password itself. */
function setUp({ maxRemembered = 1_000 } = {}) {
  const clock = { ms: 0 };
  const checks: { password: string; stored: string; end: () => void }[] = [];
  const stored = { user: user as KnownUser | null };
  const passwords = new Passwords(
    { find: async (name) => (name === 'a@example.com' ? stored.user : null) },
    {
      nowMs: () => clock.ms,
      maxRemembered,
      fits: (password, hash) =>
        new Promise((resolve) => {
          checks.push({ password, stored: hash, end: () => resolve(password === hash) });
        }),
    },
  );
  const find = async (password: string, userName?: string, guess = looked) =>
    await passwords.find(credentials(password, userName), guess);
  /** Whatever is being checked, and what follows it, until nothing is left. */
  const endAll = async (): Promise<void> => {
    for (let at = 0; ; at += 1) {
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      const check = checks[at];
      if (check === undefined) return;
      check.end();
    }
  };
  const found = async (password: string, userName?: string) => {
    const result = find(password, userName);
    await endAll();
    return await result;
  };
  return { clock, checks, stored, find, found, endAll };
}

describe('a password', () => {
  it('that is right identifies its user; a wrong one and one of an unknown user do not', async () => {
    const { found } = setUp();
    expect([await found('right'), await found('wrong'), await found('right', 'b@example.com')]).toEqual([
      user,
      null,
      null,
    ]);
  });

  it('of an unknown user is checked as well, against a hash like any other', async () => {
    const { checks, found } = setUp();
    await found('right', 'unknown@example.com');
    expect(checks).toMatchObject([
      { password: 'right', stored: expect.stringMatching(/^scrypt:32768:8:1:/) },
    ]);
  });

  it('that fitted is right for a minute, another one is checked every time', async () => {
    const { clock, checks, found } = setUp();
    for (const password of ['right', 'right', 'wrong', 'wrong']) await found(password);
    expect(checks.map(({ password }) => password)).toEqual(['right', 'wrong', 'wrong']);
    clock.ms += 59_999;
    await found('right');
    expect(checks).toHaveLength(3);
    clock.ms += 1;
    await found('right');
    expect(checks).toHaveLength(4);
  });

  it('that was changed is not right any more, from that moment on', async () => {
    const { checks, stored, found } = setUp();
    await found('right');
    stored.user = { ...user, passwordHash: 'new' };
    expect(await found('right')).toBeNull();
    expect(await found('new')).toMatchObject({ userId: '7' });
    expect(checks).toHaveLength(3);
  });

  it('that is remembered still reports that its user is disabled', async () => {
    const { stored, found } = setUp();
    await found('right');
    stored.user = { ...user, disabled: true };
    expect(await found('right')).toMatchObject({ disabled: true });
  });

  it('is not remembered for another user with the same hash', async () => {
    const { checks, found, stored } = setUp();
    stored.user = { ...user, passwordHash: 'right' };
    await found('right');
    await found('right', 'other@example.com');
    expect(checks).toHaveLength(2);
  });

  it('is remembered among a bounded number', async () => {
    const { checks, stored, found } = setUp({ maxRemembered: 2 });
    for (const password of ['one', 'two', 'three', 'three', 'two', 'one']) {
      stored.user = { ...user, passwordHash: password };
      await found(password);
    }
    expect(checks.map(({ password }) => password)).toEqual(['one', 'two', 'three', 'one']);
  });
});

describe('passwords are checked', () => {
  it('once for all who send the same at the same time', async () => {
    const { checks, find, endAll } = setUp();
    const results = Promise.all(['right', 'right', 'right'].map((password) => find(password)));
    await endAll();
    expect(await results).toEqual([user, user, user]);
    expect(checks).toHaveLength(1);
  });

  it('but never once for two users, or guesses at one who does not exist would cost less', async () => {
    const { checks, find, endAll } = setUp();
    const results = Promise.all(['b@example.com', 'c@example.com'].map((name) => find('right', name)));
    await endAll();
    await results;
    expect(checks).toHaveLength(2);
  });

  it('two at a time, with sixteen waiting; the next is a service_outage', async () => {
    const { checks, find, endAll } = setUp();
    const all = Array.from({ length: 19 }, (_, n) => find(`guess ${n}`).catch((error: unknown) => error));
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(checks).toHaveLength(2);
    await endAll();
    const results = await Promise.all(all);
    expect(results.slice(0, 18)).toEqual(Array(18).fill(null));
    expect(results[18]).toMatchObject({ code: 'service_outage', retryAfterS: 2 });
    const after = find('right');
    await endAll();
    expect(await after).toEqual(user);
  });

  it('again for a request that shared the guess of an address over its limit', async () => {
    const { checks, find, endAll } = setUp();
    const blocked = find('right', undefined, async () => {
      await nextTurn();
      throw new Error('over the limit of another address');
    });
    const others = Promise.all([find('right'), find('right')]);
    await expect(blocked).rejects.toThrow('over the limit');
    await endAll();
    expect(await others).toEqual([user, user]);
    expect(checks).toHaveLength(1);
  });

  it('again after a lookup failed', async () => {
    const { find, found } = setUp();
    const refused = find('right', undefined, () => Promise.reject(new Error('over the limit')));
    await expect(refused).rejects.toThrow('over the limit');
    expect(await found('right')).toEqual(user);
  });
});
