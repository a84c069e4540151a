import type { DnsProvider, ProviderSession } from '../dns-provider';
import { testPorts } from '../testing/test-ports';
import { withZoneLocks, ZoneLocks } from './zone-locks';

const never = new AbortController().signal;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A change that runs until the spec ends it. */
function change() {
  let end = (): void => undefined;
  let begun = false;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const run = async () => {
    begun = true;
    await ended;
  };
  return { run, end: () => end(), begun: () => begun };
}

describe('ZoneLocks', () => {
  it('changes of one key run in order of arrival, those of other keys in parallel', async () => {
    const locks = new ZoneLocks();
    const [first, second, third, other] = [change(), change(), change(), change()];
    const all = [first, second, third].map(({ run }) => locks.holding('a', never, run));
    const beside = locks.holding('b', never, other.run);
    await turn();
    expect([first, second, third, other].map(({ begun }) => begun())).toEqual([true, false, false, true]);
    first.end();
    await all[0];
    await turn();
    expect([second, third].map(({ begun }) => begun())).toEqual([true, false]);
    for (const { end } of [second, third, other]) end();
    await Promise.all([...all, beside]);
    expect(locks.size).toBe(0);
  });

  it('a caller that gives up leaves the queue, and the next one still waits for the one before', async () => {
    const locks = new ZoneLocks();
    const [first, second, third] = [change(), change(), change()];
    const controller = new AbortController();
    const reason = new Error('too late');
    const holding = locks.holding('a', never, first.run);
    const waiting = locks.holding('a', controller.signal, second.run);
    const last = locks.holding('a', never, third.run);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await turn();
    expect([second.begun(), third.begun()]).toEqual([false, false]);
    first.end();
    third.end();
    await Promise.all([holding, last]);
    expect([second.begun(), third.begun()]).toEqual([false, true]);
    expect(locks.size).toBe(0);
  });

  it('a caller that comes after the last one gave up waits for the running change, too', async () => {
    const locks = new ZoneLocks();
    const [first, second, third] = [change(), change(), change()];
    const controller = new AbortController();
    const holding = locks.holding('a', never, first.run);
    const waiting = locks.holding('a', controller.signal, second.run);
    controller.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    const last = locks.holding('a', never, third.run);
    await turn();
    expect(third.begun()).toBe(false);
    first.end();
    third.end();
    await Promise.all([holding, last]);
    expect([second.begun(), third.begun()]).toEqual([false, true]);
    await turn();
    expect(locks.size).toBe(0);
  });

  it('a failed change lets the next one run', async () => {
    const locks = new ZoneLocks();
    const failing = locks.holding('a', never, () => Promise.reject(new Error('no')));
    const next = locks.holding('a', never, () => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('done');
  });
});

describe('withZoneLocks', () => {
  it('a zone is locked per account: a foreign zone of the same name delays no one', async () => {
    const slow = change();
    const session: ProviderSession = {
      zones: () => Promise.resolve([]),
      add: () => slow.run().then(() => 'created' as const),
      replace: () => Promise.resolve('created'),
      remove: () => Promise.resolve(),
      renewed: () => null,
    };
    const provider: DnsProvider = {
      name: 'powerdns',
      title: 'x',
      advice: 'x',
      credentialKinds: () => [],
      accept: () => Promise.resolve({}),
      session: () => session,
    };
    const locked = withZoneLocks(provider, new ZoneLocks());
    const zone = { id: '1', name: 'example.com' };
    const record = { fqdn: 'a.example.com', type: 'TXT', value: 'x', ttlS: null } as const;
    const open = (account: string) => locked.session({}, account, testPorts(), never);
    const adding = open('stranger').add(zone, record);
    await open('customer').remove(zone, record);
    let removed = false;
    const removing = open('stranger')
      .remove(zone, record)
      .then(() => (removed = true));
    await turn();
    expect(removed).toBe(false);
    slow.end();
    await Promise.all([adding, removing]);
  });
});
