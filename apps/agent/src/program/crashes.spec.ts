import { readCsr } from '@certwright/pki';
import { OrderStore } from '../state/order-store';
import { readIdentity } from '../state/identity';
import { StoredKeys } from '../state/stored-keys';
import { FakeServer } from '../testing/fake-server';
import type { LossyDisk } from '../testing/lossy-disk';
import { join, lossyHostDisk, once } from '../testing/lossy-host';
import { seededRandom, state } from '../testing/simulated-host';
import { newJoinText, newSeed } from '../testing/test-host';

const order = 'www.example.com';
let server: FakeServer;
beforeEach(async () => void (server = await FakeServer.start()));
afterEach(async () => await server.stop());

const newDisk = () => lossyHostDisk(server, `[[install]]\norder = "${order}"\n`);

/** @returns whether the machine stopped within; other errors are errors */
async function crashed(disk: LossyDisk, run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run();
  } catch (error) {
    if (!disk.isStopped) throw error;
  }
  return disk.isStopped;
}

function restart(disk: LossyDisk, how: 'killed' | 'power_lost', seed: number): void {
  disk.restart(how, seededRandom(seed));
  // It names a process that has ended; here, that is the process of the spec.
  if (disk.state(`${state}/lock`) !== null) disk.remove(`${state}/lock`);
}

const ways = ['killed', 'power_lost'] as const;

describe('enrolment', () => {
  it.each(ways)(
    'is completed by a second call when %s after any change of the disk, and uses the token once',
    async (how) => {
      for (let stop = 1; ; stop++) {
        server.members.clear();
        const text = newJoinText(server, { seed: newSeed() });
        const disk = newDisk();
        disk.crashAfter = stop;
        if (!(await crashed(disk, async () => await join(disk, text)))) break;
        restart(disk, how, stop);
        expect(await join(disk, text)).toBe(0);
        expect(server.members.size).toBe(1);
        const identity = readIdentity(disk, state);
        expect([...server.members.keys()]).toEqual([identity?.agentId]);
        expect(identity?.cluster).toBe('web');
        expect(stop).toBeLessThan(100);
      }
    },
    60_000,
  );

  it('is completed by a second call when the response was lost', async () => {
    const text = newJoinText(server, { seed: newSeed() });
    const disk = newDisk();
    server.falsify = (path) => (path.endsWith('/enrol') ? { status: 502, body: {} } : undefined);
    await expect(join(disk, text)).rejects.toMatchObject({ exitCode: 4 });
    expect(server.members.size).toBe(1);
    server.falsify = () => undefined;
    expect(await join(disk, text)).toBe(0);
    expect(server.members.size).toBe(1);
  });

  it('changes nothing when the host is enrolled', async () => {
    const text = newJoinText(server, { uses: 5, seed: newSeed() });
    const disk = newDisk();
    await join(disk, text);
    const calls = disk.trace.filter((each) => each.includes('identity')).length;
    expect(await join(disk, text)).toBe(0);
    expect(disk.trace.filter((each) => each.includes('identity'))).toHaveLength(calls);
    expect(server.members.size).toBe(1);
  });

  it('gets a new identity after the agent was removed', async () => {
    const seed = newSeed();
    const disk = newDisk();
    await join(disk, newJoinText(server, { seed }));
    const before = readIdentity(disk, state)?.agentId;
    server.members.clear();
    expect(await join(disk, newJoinText(server, { seed }))).toBe(0);
    expect(readIdentity(disk, state)?.agentId).not.toBe(before);
  });
});

describe('a new key', () => {
  it.each(ways)(
    'is on the disk before its CSR is sent, and is made once, when %s after any change',
    async (how) => {
      for (let stop = 1; ; stop++) {
        server.members.clear();
        server.csrs.length = 0;
        server.orders.clear();
        const disk = newDisk();
        await join(disk, newJoinText(server, { seed: newSeed() }));
        const ordered = server.addOrder(order);
        disk.crashAfter = disk.calls + stop;
        if (!(await crashed(disk, async () => await once(disk)))) break;
        restart(disk, how, stop);
        const keys = new StoredKeys(disk, state);
        for (const { csr } of server.csrs) {
          const reading = readCsr(Buffer.from(csr, 'base64'));
          expect(keys.find(reading.ok ? reading.csr.spkiSha256 : '')).not.toBeNull();
        }
        await once(disk);
        expect(server.csrs).toHaveLength(1);
        expect(keys.all()).toEqual([ordered.issued?.spkiSha256]);
        expect(disk.list(`${state}/keys`)).toHaveLength(1);
        const orders = new OrderStore(disk, state);
        expect(orders.current(order)).toBe(ordered.issued?.sha256);
        expect(disk.list(`${orders.folder(order)}/versions`)).toEqual([ordered.issued?.sha256]);
        expect(stop).toBeLessThan(200);
      }
    },
    120_000,
  );

  it('is not made again when the response to its CSR was lost', async () => {
    const disk = newDisk();
    await join(disk, newJoinText(server, { seed: newSeed() }));
    const ordered = server.addOrder(order);
    server.falsify = (path) => (path.endsWith('/csr') ? { status: 502, body: {} } : undefined);
    await expect(once(disk)).rejects.toThrow('status 502');
    server.falsify = () => undefined;
    await once(disk);
    expect(server.csrs).toHaveLength(1);
    expect(new OrderStore(disk, state).current(order)).toBe(ordered.issued?.sha256);
  });
});
