import { Crash, LossyDisk } from '../testing/lossy-disk';
import {
  type Behaviour,
  Certificates,
  type Configured,
  seededRandom,
  SimulatedHost,
} from '../testing/simulated-host';

const now = new Date('2026-11-24T12:00:00Z');
const certificates = new Certificates(now);
const order = 'www.example.com';
// Renewed when a third of its lifetime is left.
certificates.of('old', order, { notBefore: new Date(now.getTime() - 60 * 86_400_000) });
const combined = '/etc/servers/www.pem';

const configured: Configured = {
  services: [
    { name: 'web', probes: [{ address: 'web:443', serverName: order, starttls: null }] },
    { name: 'mail', probes: [{ address: 'mail:25', serverName: order, starttls: 'smtp' }] },
  ],
  points: [
    { order, service: 'web' },
    { order, service: 'mail', path: combined },
  ],
};

async function installedHost(): Promise<SimulatedHost> {
  const host = new SimulatedHost(new LossyDisk(['/etc/servers']), certificates, configured, now);
  host.want(order, 'old');
  await host.settle();
  expect(host.served.get('web')?.get(order)).toBe(host.sha256('old'));
  host.nowMs += 60_000;
  return host;
}

/** Whatever happens, a server that starts now gets a certificate with its key. */
function checkFiles(host: SimulatedHost): void {
  const versions = [host.sha256('old'), host.sha256('new')];
  for (const point of host.settings.points) expect(versions).toContain(host.pairAt(point));
}

const renew = async (host: SimulatedHost): Promise<void> => {
  host.want(order, 'new');
  await host.settle();
};

/** What the process did not see: the error ends it. */
async function crashing(run: () => Promise<void>, host: SimulatedHost): Promise<void> {
  try {
    await run();
    await host.installer.stopped();
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
  }
}

interface Case {
  readonly behaviour: Behaviour;
  readonly ending: 'new' | 'old';
}

const cases: readonly Case[] = [
  { behaviour: 'good', ending: 'new' },
  { behaviour: 'test_fails', ending: 'old' },
  { behaviour: 'reload_fails', ending: 'old' },
  { behaviour: 'reload_lies', ending: 'old' },
  { behaviour: 'dies', ending: 'old' },
];

function arrange(host: SimulatedHost, behaviour: Behaviour): void {
  for (const name of ['web', 'mail']) host.behaviour.set(name, behaviour);
  host.appliesTo.add(host.sha256('new'));
}

function checkEnding(host: SimulatedHost, { ending }: Case): void {
  checkFiles(host);
  for (const point of host.settings.points) expect(host.pairAt(point)).toBe(host.sha256(ending));
  for (const name of ['web', 'mail']) expect(host.served.get(name)?.get(order)).toBe(host.sha256(ending));
  const states = Object.values(host.installer.journals.of(order).points).map((point) => point.state);
  const expected = ending === 'new' ? 'serving' : 'rolled_back';
  expect(states).toEqual([expected, expected]);
}

describe.each(cases)('when a server is $behaviour', (each) => {
  it('files agree after every change of the disk', async () => {
    const host = await installedHost();
    arrange(host, each.behaviour);
    host.disk.onCall = () => checkFiles(host);
    await renew(host);
    checkEnding(host, each);
  });

  it.each(['killed', 'power_lost'] as const)(
    'ends the same when %s after any change of the disk',
    async (how) => {
      for (let stop = 1; ; stop++) {
        const host = await installedHost();
        arrange(host, each.behaviour);
        const before = host.disk.calls;
        host.disk.crashAfter = before + stop;
        await crashing(async () => await renew(host), host);
        const isComplete = host.disk.calls < before + stop;
        if (isComplete) break;
        host.restart(how, seededRandom(stop));
        checkFiles(host);
        // Servers that start by themselves in the meantime. With the new version, a reload that changes nothing is enough.
        if (each.behaviour !== 'reload_lies')
          for (const name of ['web', 'mail']) expect(host.startServer(name)).not.toBeNull();
        host.disk.onCall = () => checkFiles(host);
        await renew(host);
        checkEnding(host, each);
        if (stop > 500) throw new Error('the renewal does not end');
      }
    },
    60_000,
  );
});

it('a rollback that was interrupted continues without the server', async () => {
  const host = await installedHost();
  arrange(host, 'dies');
  host.disk.onCall = () => {
    const journal =
      host.disk.readThrough(`/var/lib/certwright-agent/orders/${order}/journal.json`)?.toString() ?? '';
    if (journal.includes('"back"')) host.disk.crashAfter = 0;
  };
  await crashing(async () => await renew(host), host);
  host.disk.onCall = () => undefined;
  host.restart('killed');
  await host.settle();
  checkEnding(host, { behaviour: 'dies', ending: 'old' });
});

it('a second renewal during an interrupted one returns to the version that was proven', async () => {
  const host = await installedHost();
  host.disk.crashAfter = host.disk.calls + 12;
  await crashing(async () => await renew(host), host);
  host.restart('killed');
  for (const name of ['web', 'mail']) host.behaviour.set(name, 'reload_lies');
  host.startServer('web');
  host.startServer('mail');
  host.want(order, 'newest');
  host.appliesTo.add(host.sha256('newest'));
  await host.settle();
  for (const point of host.settings.points)
    expect([host.sha256('old'), host.sha256('new')]).toContain(host.pairAt(point));
});

describe.each(cases)('without the journal, when a server is $behaviour', (each) => {
  it('ends the same when killed after any change of the disk', async () => {
    for (let stop = 1; ; stop++) {
      const host = await installedHost();
      arrange(host, each.behaviour);
      const before = host.disk.calls;
      host.disk.crashAfter = before + stop;
      await crashing(async () => await renew(host), host);
      if (host.disk.calls < before + stop) break;
      host.disk.restart('killed');
      host.disk.put(`/var/lib/certwright-agent/orders/${order}/journal.json`, '{');
      host.restart('killed');
      checkFiles(host);
      // Servers present what they have until the wanted certificate is known.
      await host.settle();
      if (each.behaviour !== 'reload_lies')
        for (const name of ['web', 'mail']) expect(host.startServer(name)).not.toBeNull();
      host.disk.onCall = () => checkFiles(host);
      await renew(host);
      checkEnding(host, each);
      if (stop > 500) throw new Error('the renewal does not end');
    }
  }, 60_000);
});
