import { eventually } from '@certwright/testing';
import { type FakeOrder, FakeServer } from '../testing/fake-server';
import type { LossyDisk } from '../testing/lossy-disk';
import { agentOf, configure, join, lossyHostDisk, once } from '../testing/lossy-host';
import { state } from '../testing/simulated-host';
import { newJoinText, newSeed } from '../testing/test-host';
import { ClonedFault } from './agent';

const order = 'www.example.com';
const folderPoint = `[[install]]\norder = "${order}"\n`;
const current = `${state}/orders/${order}/current`;

let server: FakeServer;
let disk: LossyDisk;
let seed: Uint8Array;
beforeEach(async () => {
  server = await FakeServer.start();
  disk = lossyHostDisk(server, folderPoint);
  seed = newSeed();
  await join(disk, newJoinText(server, { seed }));
});
afterEach(async () => await server.stop());

/** A renewal whose certificate this host is to install. */
async function renewed() {
  const ordered = server.addOrder(order);
  await once(disk);
  const before = ordered.issued?.sha256;
  server.ask(ordered);
  return { ordered, before };
}

describe.each([
  ['ENOSPC', 'the disk is full; free space or inodes on it'],
  ['EROFS', 'the file system is read-only; mount it for writing'],
  ['EACCES', 'permission denied; run the agent as a user that may write there, or correct the permissions'],
])('%s', (code, text) => {
  it('of the keys: no CSR is sent, and the report says why', async () => {
    const { before } = await renewed();
    disk.injected = [{ code, at: /\/keys\// }];
    await once(disk);
    expect(server.csrs).toHaveLength(1);
    expect(server.reports.at(-1)?.agent.problem).toContain(`order ${order}: makes no key: `);
    expect(server.reports.at(-1)?.agent.problem).toContain(`${text} (${code})`);
    expect(disk.readLink(current)).toBe(`versions/${before}`);
  });

  it('of the orders: nothing is installed, and the report says why', async () => {
    const { before } = await renewed();
    disk.injected = [{ code, at: /\/orders\// }];
    await once(disk);
    expect(server.csrs).toHaveLength(2);
    expect(server.lastReport(order)).toMatchObject({ state: 'failed', certificate_sha256: before });
    expect(server.lastReport(order)?.problem).toContain(`${text} (${code})`);
    expect(disk.readLink(current)).toBe(`versions/${before}`);
    disk.injected = [];
    await once(disk);
    expect(server.lastReport(order)?.state).toBe('installed');
  });

  it('of everything: the agent starts, and the report says why, also when nothing is to be done', async () => {
    const { ordered, before } = await renewed();
    ordered.task = null;
    server.touch(ordered);
    disk.injected = [{ code, at: /./ }];
    await once(disk);
    expect(server.reports.at(-1)?.agent.problem).toContain(`${text} (${code})`);
    expect(disk.readLink(current)).toBe(`versions/${before}`);
  });
});

it('a copy of the machine does nothing but report it', async () => {
  const { before } = await renewed();
  disk.put('/etc/machine-id', `${'b'.repeat(32)}\n`);
  server.requests.length = 0;
  await expect(once(disk)).rejects.toThrow(ClonedFault);
  expect(server.requests.map(({ path }) => path)).toEqual(['/api/v3/agent/reports']);
  expect(server.reports.at(-1)?.agent.problem).toMatch(
    /^this machine is a copy of the one that was enrolled/,
  );
  expect(server.reports.at(-1)?.installations).toEqual([]);
  expect(disk.readLink(current)).toBe(`versions/${before}`);
  // With a join string of its own, it is another agent.
  expect(await join(disk, newJoinText(server, { seed }))).toBe(0);
  expect(server.members.size).toBe(2);
});

it('a report of the original is not lost because a copy reported', async () => {
  await renewed();
  const original = agentOf(disk);
  await original.once();
  const numbers = server.reports.map(({ number }) => number);
  expect([...numbers].sort((a, b) => a - b)).toEqual(numbers);
});

it('reports after a copy whose clock was days ahead are newer than that of the copy', async () => {
  await once(disk);
  const before = server.reports.length;
  disk.put('/etc/machine-id', `${'b'.repeat(32)}\n`);
  const copy = agentOf(disk, () => new Date(Date.now() + 5 * 86_400_000));
  await expect(copy.once()).rejects.toThrow(ClonedFault);
  disk.put('/etc/machine-id', `${'a'.repeat(32)}\n`);
  const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 2_000);
  await agentOf(disk, () => new Date(Date.now())).once();
  now.mockRestore();
  const [ofCopy, after] = server.reports.slice(before);
  expect(ofCopy?.agent.problem).toContain('is a copy');
  expect(after?.number).toBeGreaterThan(ofCopy?.number ?? Infinity);
});

it('a key is not removed by a clock that is days ahead before the server was reached', async () => {
  const ordered = server.addOrder(order);
  await once(disk);
  server.ask(ordered);
  // The machine stops when the CSR is sent: the host does not know yet that the cluster uses the key.
  server.falsify = (path) => (path.endsWith('/csr') ? { status: 503 } : undefined);
  await once(disk).catch(() => undefined);
  server.falsify = () => undefined;
  const keys = disk.list(`${state}/keys`);
  expect(keys).toHaveLength(2);
  server.isDown = true;
  const stop = new AbortController();
  const running = agentOf(disk, () => new Date(Date.now() + 30 * 86_400_000), stop.signal).run();
  await eventually(() => expect(disk.list(state)).toContain('disk-check'));
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await running;
  expect(disk.list(`${state}/keys`)).toEqual(keys);
});

it.each([-5, 5])('a clock that is %s days wrong is reported, and everything else works', async (days) => {
  const ordered = server.addOrder(order);
  const agent = agentOf(disk, () => new Date(Date.now() + days * 86_400_000));
  await agent.once();
  expect(server.reports.at(-1)?.agent.problem).toBe(
    `the clock of this host is 5 days ${days < 0 ? 'behind' : 'ahead of'} that of the server; correct it, such as with chrony or systemd-timesyncd`,
  );
  expect(server.lastReport(order)).toMatchObject({
    state: 'installed',
    certificate_sha256: ordered.issued?.sha256,
  });
});

it('without the server, installs what it has, at a new place too', async () => {
  const ordered = server.addOrder(order);
  await once(disk);
  configure(
    disk,
    server,
    `${folderPoint}[[install]]\norder = "${order}"\nformat = "combined"\npath = "/etc/servers/www.pem"\n`,
  );
  server.isDown = true;
  await expect(once(disk)).rejects.toThrow();
  expect(disk.readThrough('/etc/servers/www.pem')?.toString()).toContain('-----BEGIN PRIVATE KEY-----');
  server.isDown = false;
  await once(disk);
  expect(server.lastReport(order, '/etc/servers/www.pem')?.certificate_sha256).toBe(ordered.issued?.sha256);
});

it('an order that left the cluster keeps its files', async () => {
  const ordered = server.addOrder(order);
  await once(disk);
  server.release(ordered);
  const agent = await once(disk);
  expect(agent.installer.journals.of(order)).toMatchObject({
    isReleased: true,
    points: { folder: { state: 'released' } },
  });
  expect(disk.readLink(current)).toBe(`versions/${ordered.issued?.sha256}`);
  expect(agent.problem()).toBe(`the cluster has no order "${order}"; create it, or correct [[install]]`);
});

it('a removed agent keeps what is installed, and its keys', async () => {
  const { ordered, before } = await renewed();
  server.members.clear();
  await expect(once(disk)).rejects.toMatchObject({ status: 401 });
  expect(disk.readLink(current)).toBe(`versions/${before}`);
  expect(disk.list(`${state}/keys`)).toEqual([`${ordered.issued?.spkiSha256}.json`]);
});

describe('a damaged file of a key', () => {
  const other = 'mail.example.com';
  const keyFile = ({ issued }: FakeOrder) => `${state}/keys/${issued?.spkiSha256}.json`;
  const removeVersion = (on: LossyDisk, { issued }: FakeOrder) => {
    const version = `${state}/orders/${order}/versions/${issued?.sha256}`;
    for (const file of on.list(version)) on.remove(`${version}/${file}`);
    on.removeFolder(version);
  };

  it.each([
    ['empty', () => ''],
    ['with missing members', () => '{"order":"www.example.com"}'],
    ['cut off', (content: string) => content.slice(0, 200)],
    [
      'with changed bytes',
      (content: string) => content.replace(/MIG.{40}/, (text) => `${text.slice(0, -4)}AAAA`),
    ],
  ])('(%s) stops only what needs this key, and the report names it', async (_, damaged) => {
    const ordered = server.addOrder(order);
    await once(disk);
    const content = disk.read(keyFile(ordered), 10_000).toString();
    expect(damaged(content)).not.toBe(content);
    disk.put(keyFile(ordered), damaged(content));
    removeVersion(disk, ordered);
    const unaffected = server.addOrder(other);
    await once(disk);
    expect(server.lastReport(order)?.state).toBe('no_key');
    expect(server.csrs).toHaveLength(2);
    expect(unaffected.issued).not.toBeNull();
    expect(server.reports.at(-1)?.agent.problem).toBe(
      `${keyFile(ordered)} is damaged; restore it from a backup, or remove it and call rekey for the order that has no_key`,
    );
    disk.put(keyFile(ordered), content);
    const agent = await once(disk);
    expect(server.lastReport(order)?.state).toBe('installed');
    expect(agent.problem()).toBeNull();
  });

  it('that the disk cannot read is named, too', async () => {
    const ordered = server.addOrder(order);
    await once(disk);
    disk.injected = [{ code: 'EIO', at: new RegExp(keyFile(ordered)), calls: ['read'] }];
    server.addOrder(other);
    const agent = await once(disk);
    expect(server.csrs).toHaveLength(2);
    expect(agent.problem()).toBe(`${keyFile(ordered)}: the disk reports an error; check it (EIO)`);
    disk.injected = [];
    expect(agent.problem()).toBeNull();
  });

  it('is replaced by what a member of the cluster sealed', async () => {
    const second = lossyHostDisk(server, folderPoint);
    await join(second, newJoinText(server, { seed }));
    const ordered = server.addOrder(order);
    await once(disk);
    await once(second);
    second.put(keyFile(ordered), '');
    removeVersion(second, ordered);
    const agent = await once(second);
    expect(agent.problem()).toBeNull();
    expect(second.readLink(current)).toBe(`versions/${ordered.issued?.sha256}`);
    expect(agent.keys.find(ordered.issued?.spkiSha256 ?? '')?.order).toBe(order);
  });
});

describe('a journal that cannot be used', () => {
  const other = 'mail.example.com';
  const journal = `${state}/orders/${order}/journal.json`;
  const isDamaged = `${journal} is damaged; the agent set it aside as ${journal}.damaged and found out again what is installed; remove that file when you do not need it`;

  it.each([
    ['empty', () => ''],
    ['cut off', (content: string) => content.slice(0, 200)],
    ['null', () => 'null'],
    ['a list', () => '[]'],
    ['without placements', (content: string) => content.replace('"placements"', '"other"')],
    ['with an unknown state', (content: string) => content.replace('"installed"', '"unknown"')],
    ['with a number in place of a certificate', (content: string) => content.replace(/"[0-9a-f]{64}"/, '7')],
    ['with a path in place of a certificate', (content: string) => content.replace(/[0-9a-f]{64}/, '../..')],
  ])('(%s) is set aside, and its order and the others are installed', async (_, damaged) => {
    configure(disk, server, `${folderPoint}[[install]]\norder = "${other}"\n`);
    const { ordered } = await renewed();
    const unaffected = server.addOrder(other);
    const content = disk.read(journal, 10_000).toString();
    expect(damaged(content)).not.toBe(content);
    disk.put(journal, damaged(content));
    const agent = await once(disk);
    for (const each of [ordered, unaffected])
      expect(server.lastReport(each.name)).toMatchObject({
        state: 'installed',
        certificate_sha256: each.issued?.sha256,
      });
    expect(disk.readLink(current)).toBe(`versions/${ordered.issued?.sha256}`);
    expect(disk.read(`${journal}.damaged`, 10_000).toString()).toBe(damaged(content));
    expect(agent.problem()).toBe(isDamaged);
    expect(server.reports.at(-1)?.agent.problem).toBe(isDamaged);
    disk.remove(`${journal}.damaged`);
    expect(agent.problem()).toBeNull();
    expect((await once(disk)).problem()).toBeNull();
  });

  it('(a folder) is set aside, also beside an earlier one, and leaves with its order', async () => {
    const ordered = server.addOrder(order);
    for (let times = 0; times < 2; times++) {
      await once(disk);
      disk.remove(journal);
      disk.makeFolders(`${journal}/folder`);
    }
    const agent = await once(disk);
    expect(server.lastReport(order)?.state).toBe('installed');
    expect(agent.problem()).toBe(isDamaged);
    server.release(ordered);
    agent.orders.remove(order);
    expect(disk.list(`${state}/orders`)).toEqual([]);
  });

  it('does not keep the agent from starting when the disk refuses changes', async () => {
    const { ordered, before } = await renewed();
    ordered.task = null;
    server.touch(ordered);
    disk.put(journal, '');
    disk.injected = [{ code: 'EROFS', at: /./ }];
    await once(disk);
    expect(server.reports.at(-1)?.agent.problem).toContain(`${journal} is damaged; it cannot be set aside: `);
    expect(disk.readLink(current)).toBe(`versions/${before}`);
  });

  it('that the disk cannot read is set aside, too', async () => {
    const ordered = server.addOrder(order);
    await once(disk);
    disk.injected = [{ code: 'EIO', at: /journal\.json$/, calls: ['read'] }];
    const agent = agentOf(disk);
    agent.installer.journals.restore();
    disk.injected = [];
    await agent.once();
    expect(agent.problem()).toContain(`${journal} cannot be read: ${journal}: the disk reports an error`);
    expect(server.lastReport(order)).toMatchObject({
      state: 'installed',
      certificate_sha256: ordered.issued?.sha256,
    });
  });

  it('of another order is not used, nor changed', async () => {
    server.addOrder(order);
    await once(disk);
    configure(disk, server, `${folderPoint}[[install]]\norder = "${other}"\n`);
    const copied = disk.read(journal, 10_000);
    disk.makeFolders(`${state}/orders/${other}`);
    disk.put(`${state}/orders/${other}/journal.json`, copied);
    const ordered = server.addOrder(other);
    const agent = await once(disk);
    expect(server.lastReport(other)?.certificate_sha256).toBe(ordered.issued?.sha256);
    expect(agent.problem()).toContain(`${other}/journal.json is of another order ("${order}")`);
    expect(disk.read(`${state}/orders/${other}/journal.json.damaged`, 10_000)).toEqual(copied);
  });

  it('without the server, leaves what is installed', async () => {
    const { before } = await renewed();
    disk.put(journal, '');
    server.isDown = true;
    await expect(once(disk)).rejects.toThrow();
    expect(disk.readLink(current)).toBe(`versions/${before}`);
  });
});

it('an identity with missing members is damaged', () => {
  disk.put(`${state}/identity.json`, '{}');
  expect(() => agentOf(disk)).toThrow(/identity\.json is damaged; restore it from a backup/);
});

it('a link that the disk cannot read concerns its order alone', async () => {
  const other = 'mail.example.com';
  configure(disk, server, `${folderPoint}[[install]]\norder = "${other}"\n`);
  server.addOrder(order);
  await once(disk);
  disk.injected = [
    { code: 'EIO', at: new RegExp(`${order}/\\.?current`) },
    { code: 'EIO', at: new RegExp(`${order}/current$`), calls: ['state', 'readLink'] },
  ];
  const unaffected = server.addOrder(other);
  await once(disk);
  expect(server.lastReport(other)?.certificate_sha256).toBe(unaffected.issued?.sha256);
  expect(server.lastReport(order)?.problem).toContain('the disk reports an error; check it (EIO)');
});

it('a version whose folder the disk cannot read concerns its order alone', async () => {
  const other = 'mail.example.com';
  configure(disk, server, `${folderPoint}[[install]]\norder = "${other}"\n`);
  server.addOrder(order);
  await once(disk);
  disk.injected = [
    { code: 'EIO', at: new RegExp(`${order}/versions/`) },
    { code: 'EIO', at: new RegExp(`${order}/versions/[0-9a-f]{64}$`), calls: ['list'] },
  ];
  const unaffected = server.addOrder(other);
  await once(disk);
  expect(server.lastReport(other)).toMatchObject({
    state: 'installed',
    certificate_sha256: unaffected.issued?.sha256,
  });
  expect(server.lastReport(order)?.problem).toContain('the disk reports an error; check it (EIO)');
});

it.each([
  ['empty', ''],
  ['without members', '{}'],
])(
  'a damaged memory of members (%s) stops only what needs them, and the report names it',
  async (_, damaged) => {
    const other = 'mail.example.com';
    const { ordered } = await renewed();
    const sent = server.csrs.length;
    disk.put(`${state}/members.json`, damaged);
    configure(disk, server, `${folderPoint}[[install]]\norder = "${other}"\n`);
    server.addOrder(other);
    await once(disk);
    expect(server.csrs).toHaveLength(sent);
    for (const name of [ordered.name, other])
      expect(server.reports.at(-1)?.agent.problem).toContain(
        `order ${name}: makes no key: ${state}/members.json is damaged; restore it from a backup`,
      );
  },
);
