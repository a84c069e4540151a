import { eventually } from '@certwright/testing';
import { accessOf, debianServers } from './testing/debian-servers';
import { Host } from './testing/host';
import { mayRun, type RunningServer } from './testing/real-server';

const serving = (done: string) => [{ state: 'serving', problem: null, done }];
const rolledBack = (problem: RegExp) => [
  { state: 'rolled_back', problem: expect.stringMatching(problem), done: null },
];

/** Shown as skipped where the server is missing, or must begin as root; tools/test/peers.sh installs all of them. */
describe.each(debianServers.map((server) => [server.name, server] as const))('%s', (name, server) => {
  const given = mayRun(server) ? it : it.skip;
  let host: Host;
  let current: string;

  let running: RunningServer;

  beforeAll(async () => {
    if (!mayRun(server)) return;
    host = await Host.with(server);
    [running] = host.servers as [RunningServer];
  });
  afterAll(async () => await host?.dispose());

  /** Visitors and disk agree, and only the configured user may read the key. */
  const expectServed = async (sha256: string) => {
    // nginx may accept with a process from before the reload for a moment longer.
    await eventually(async () => expect(new Set(await running.served())).toEqual(new Set([sha256])));
    expect(host.onDisk).toEqual([sha256]);
    expect(host.access).toEqual([accessOf(server)]);
  };

  given('install: starts with the first certificate', async () => {
    current = host.issue();
    await host.install();
    expect(host.records).toEqual(serving(current));
    await expectServed(current);
  });

  given('renewal: one reload, then the new certificate is served', async () => {
    const before = running.reloadCount;
    current = host.issue();
    await host.install();
    expect(host.records).toEqual(serving(current));
    expect(running.reloadCount).toBe(before + 1);
    await expectServed(current);
  });

  given('failing test: nothing is reloaded, and the old files are back', async () => {
    const before = running.reloadCount;
    running.breakConfiguration();
    const next = host.issue();
    await host.install();
    expect(host.records).toEqual(rolledBack(new RegExp(`^test of ${name} failed: .* returned \\d+`)));
    expect(running.reloadCount).toBe(before);
    await expectServed(current);
    running.configure('');
    await host.retry();
    expect(host.records).toEqual(serving(next));
    await expectServed((current = next));
  });

  given('failing reload: the old certificate is back', async () => {
    running.reloads('fails');
    const next = host.issue();
    await host.install();
    expect(host.records).toEqual(
      rolledBack(new RegExp(`^reload of ${name} failed: .*the reload of the spec fails`)),
    );
    await expectServed(current);
    running.reloads('works');
    await host.retry();
    expect(host.records).toEqual(serving(next));
    await expectServed((current = next));
  });

  given(
    'reload that changes nothing: the old certificate is back, although every command succeeded',
    async () => {
      running.reloads('does nothing');
      host.clock.pace = 0.02;
      const next = host.issue();
      await host.install();
      host.clock.pace = 1;
      expect(host.records).toEqual(rolledBack(/serves another certificate .* within 30 s after the reload/));
      await expectServed(current);
      running.reloads('works');
      await host.retry();
      expect(host.records).toEqual(serving(next));
      await expectServed((current = next));
    },
  );

  given('rollback: a server that a reload has ended is started with the old certificate', async () => {
    running.reloads('ends the server');
    host.clock.pace = 0.02;
    const next = host.issue();
    await host.install();
    host.clock.pace = 1;
    expect(host.records).toEqual(
      rolledBack(/connection refused.* within 30 s after the reload; the old certificate is served/),
    );
    await expectServed(current);
    await host.retry();
    expect(host.records).toEqual(serving(next));
    await expectServed((current = next));
  });

  given('a crash at any time: the server starts with what is on the disk', async () => {
    await running.crash();
    await running.start();
    await eventually(async () => await expectServed(current));
  });
});
