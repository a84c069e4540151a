import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { eventually, startChild, type Child } from '@certwright/testing';

const root = path.join(__dirname, '../..');
const program = `import('./tools/peers/programs.mjs').then(({ missingFor }) => console.log(missingFor(['bind', 'knot', 'pdns', 'unbound']).join(', ')))`;
const missing = execFileSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' }).trim();
const hasDig = spawnSync('dig', ['-v'], { timeout: 5_000 }).error === undefined;
const describeWithPeers = missing === '' && hasDig ? describe : describe.skip;

const start = (options: object): Promise<Child> =>
  startChild(process.execPath, { args: ['tools/peers/main.mjs', JSON.stringify(options)], cwd: root });

interface Description {
  readonly port: number;
  readonly folder: string;
  readonly keys: { readonly full: { name: string; algorithm: string; secret: string } };
  readonly servers: readonly { readonly address: string; readonly pid: number }[];
  readonly unbound: { readonly pid: number };
}

describeWithPeers(`real name servers${missing && ` (not installed: ${missing})`}`, () => {
  const [first, second, third] = ['127.0.0.26', '127.0.0.27', '127.0.0.28'] as const;
  let child: Child;
  let started: Description;
  beforeAll(async () => {
    const followed = { name: 'example.com', refreshS: 2 };
    const left = { name: 'example.org' };
    child = await start({
      servers: [
        { kind: 'bind', address: first, zones: [followed, left] },
        {
          kind: 'knot',
          address: second,
          zones: [
            { ...followed, primary: first },
            { ...left, primary: first },
          ],
        },
        { kind: 'pdns', address: third, zones: [{ name: 'example.net', records: ['www A 127.0.0.9'] }] },
      ],
      unbound: true,
    });
    await child.says(/^\{"peers":.*\}$/m, 30_000);
    started = (JSON.parse(child.output()) as { peers: Description }).peers;
  }, 40_000);

  const dig = (address: string, ...query: string[]): string =>
    execFileSync(
      'dig',
      [`@${address}`, '-p', String(started.port), '+short', '+tries=1', '+time=2', ...query],
      {
        encoding: 'utf8',
      },
    ).trim();
  const update = (zone: string, value: string) => {
    const { algorithm, name, secret } = started.keys.full;
    const input = `server ${first} ${started.port}\nzone ${zone}\nadd t.${zone} 1 TXT ${value}\nsend\n`;
    execFileSync('nsupdate', ['-y', `${algorithm}:${name}:${secret}`], { input });
  };

  it('are found by NS records and their addresses, on one port, also through a resolver', () => {
    expect(dig('127.0.0.1', 'example.com', 'NS').split('\n').sort()).toEqual([
      'ns1.example.com.',
      'ns2.example.com.',
    ]);
    expect(dig(first, 'ns1.example.com', 'A')).toBe(first);
    expect(dig(second, 'ns2.example.com', 'A')).toBe(second);
    expect(dig('127.0.0.1', 'www.example.net', 'A')).toBe('127.0.0.9');
    expect(dig(third, '+tcp', 'ns1.example.net', 'A')).toBe(third);
  });

  it('include one copy that refreshes its zone, and one that does not', async () => {
    for (const zone of ['example.com', 'example.org']) update(zone, 'new');
    expect([dig(first, 't.example.com', 'TXT'), dig(first, 't.example.org', 'TXT')]).toEqual([
      '"new"',
      '"new"',
    ]);
    await eventually(() => expect(dig(second, 't.example.com', 'TXT')).toBe('"new"'), { withinMs: 10_000 });
    expect(dig(second, 't.example.org', 'TXT')).toBe('');
  }, 15_000);

  it('leave no processes and files', async () => {
    expect(existsSync(started.folder)).toBe(true);
    expect(await child.stop()).toMatchObject({ code: 0 });
    expect(existsSync(started.folder)).toBe(false);
    // A process whose parent has ended is there until init has waited for it.
    for (const { pid } of [...started.servers, started.unbound])
      await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  }, 30_000);
});

it('does not start a server on a network address', async () => {
  const child = await start({
    servers: [{ kind: 'knot', address: '192.0.2.1', zones: [{ name: 'example.com' }] }],
  });
  expect((await child.ended).code).toBe(1);
  expect(child.output()).toContain('192.0.2.1 is not a loopback address.');
});
