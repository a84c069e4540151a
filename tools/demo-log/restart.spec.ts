import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type LogEntry, readDataTile, tilePath, tileWidth } from '@certwright/ct';
import { encodePem } from '@certwright/pki';
import { type Child, eventually, freePort, startChild } from '@certwright/testing';
import { RunningLog, type SctJson } from './testing/running-log';
import { SpecCa } from './testing/spec-ca';

let ca: SpecCa;
let running: RunningLog;
beforeAll(async () => void (ca = await SpecCa.make()));
beforeEach(() => void (running = new RunningLog()));
afterEach(async () => await running.remove());

const file = (name: string) => path.join(running.folder, name);
const start = async (environment: Readonly<Record<string, string>> = {}) =>
  await running.start({ ACCEPT_ANY_ROOT: 'true', ...environment });

const sth = async () =>
  await running.json<{ tree_size: number; timestamp: number; sha256_root_hash: string }>(
    '/rfc6962/ct/v1/get-sth',
  );

const addChain = async (name: string) => await running.sct('/rfc6962/ct/v1/add-chain', ca.chain(name));

describe('a log that is started again', () => {
  it('is the same log: keys, entries, heads and SCTs', async () => {
    await start();
    const chain = ca.chain('a.example.com');
    const sct = await running.sct('/rfc6962/ct/v1/add-chain', chain);
    const onStatic = await running.sct('/static/ct/v1/add-chain', chain);
    const [head, list] = [await sth(), await running.json<{ operators: unknown[] }>('/log_list.json')];
    const port = new URL(running.url).port;
    await running.stop();
    await start({ PORT: port });
    expect(await sth()).toEqual(head);
    expect((await running.json<typeof list>('/log_list.json')).operators).toMatchObject(
      JSON.parse(
        JSON.stringify(list.operators, (key, value: unknown) => (key === 'state' ? undefined : value)),
      ) as unknown[],
    );
    expect(await running.sct('/rfc6962/ct/v1/add-chain', chain)).toEqual(sct);
    expect(await running.sct('/static/ct/v1/add-chain', chain)).toEqual(onStatic);
    expect(await addChain('b.example.com')).toMatchObject({ id: sct.id });
    const { tree_size: size, timestamp } = await sth();
    expect([size, timestamp > head.timestamp]).toEqual([2, true]);
  });

  it('removes an incomplete record of a crash, logs that, and continues', async () => {
    await start();
    await addChain('a.example.com');
    const head = await sth();
    await running.stop();
    const { size } = statSync(file('rfc6962.log'));
    appendFileSync(file('rfc6962.log'), Buffer.from('0000040012345678aabb', 'hex'));
    await start();
    expect(running.lines.filter((line) => line.includes('incomplete record')).join()).toContain('"bytes":10');
    expect(statSync(file('rfc6962.log')).size).toBe(size);
    expect(await sth()).toEqual(head);
    await addChain('b.example.com');
    expect((await sth()).tree_size).toBe(2);
  });

  it('does not start when a signed entry is missing, and does not change the file', async () => {
    await start();
    await addChain('a.example.com');
    await addChain('b.example.com');
    await sth();
    await running.stop();
    const whole = readFileSync(file('rfc6962.log'));
    const other = Buffer.from(whole);
    // In the first of the two entries.
    const place = Math.floor(whole.length / 2);
    other.writeUInt8(other.readUInt8(place) ^ 1, place);
    writeFileSync(file('rfc6962.log'), other);
    await expect(start()).rejects.toThrow('does not have the 2 entries that the log has signed');
    // The records after the damage are kept for a repair.
    expect(readFileSync(file('rfc6962.log'))).toEqual(other);
    truncateSync(file('rfc6962.log'), 0);
    await expect(start()).rejects.toThrow('does not have the 2 entries that the log has signed');
    writeFileSync(file('rfc6962.log'), whole);
    await start();
    expect((await sth()).tree_size).toBe(2);
  });

  it('does not start when entries differ from the signed ones', async () => {
    await start();
    await addChain('a.example.com');
    await sth();
    await running.stop();
    const other = new RunningLog();
    await other.start({ ACCEPT_ANY_ROOT: 'true' });
    await other.sct('/rfc6962/ct/v1/add-chain', ca.chain('b.example.com'));
    await other.stop();
    writeFileSync(file('rfc6962.log'), readFileSync(path.join(other.folder, 'rfc6962.log')));
    await other.remove();
    await expect(start()).rejects.toThrow('does not have the 1 entries that the log has signed');
  });

  it('does not start when its port is in use, and does not change the files', async () => {
    await start();
    const second = new RunningLog();
    const starting = second.start({ PORT: new URL(running.url).port });
    await expect(starting).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(second.lines).toEqual([]);
    await second.remove();
  });
});

describe('an entry that is in no head yet', () => {
  it('is returned nowhere before the merge delay, and everywhere after it', async () => {
    await start({ MERGE_DELAY: '10s' });
    await sth();
    await running.request('/static/checkpoint');
    await addChain('a.example.com');
    await running.sct('/static/ct/v1/add-chain', ca.chain('a.example.com'));
    const statuses = async () => {
      const targets = [
        'rfc6962/ct/v1/get-entries?start=0&end=0',
        'static/tile/0/000.p/1',
        'static/tile/data/000.p/1',
      ];
      return await Promise.all(targets.map(async (each) => (await running.request(`/${each}`)).status));
    };
    expect(await statuses()).toEqual([400, 404, 404]);
    expect((await sth()).tree_size).toBe(0);
    running.clockMs += 10_000;
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await sth()).tree_size).toBe(1);
  });
});

describe('accepted roots', () => {
  const refused = async () =>
    (await running.submit('/static/ct/v1/add-chain', ca.chain('x.example.com'))).status;
  const roots = async () =>
    (await running.json<{ certificates: string[] }>('/rfc6962/ct/v1/get-roots')).certificates;

  it('in a file are accepted when it is created or changed; an invalid file changes nothing', async () => {
    await running.start({ ACCEPTED_ROOTS: `${file('none.pem')},${file('roots.pem')}` });
    expect([await refused(), await roots()]).toEqual([400, []]);
    writeFileSync(file('roots.pem'), encodePem('CERTIFICATE', ca.root));
    running.clockMs += 1_000;
    expect([await refused(), await roots()]).toEqual([200, [ca.root.toString('base64')]]);
    writeFileSync(file('roots.pem'), 'no certificate');
    running.clockMs += 1_000;
    expect(await roots()).toEqual([ca.root.toString('base64')]);
    expect(running.lines.at(-1)).toContain('roots.pem holds no certificates in PEM');
    const other = await SpecCa.make();
    writeFileSync(file('roots.pem'), encodePem('CERTIFICATE', other.root));
    running.clockMs += 1_000;
    expect([await refused(), await roots()]).toEqual([400, [other.root.toString('base64')]]);
  });

  it('are accepted for concurrent submissions right after the start', async () => {
    writeFileSync(file('roots.pem'), encodePem('CERTIFICATE', ca.root));
    await running.start({ ACCEPTED_ROOTS: file('roots.pem') });
    const names = Array.from({ length: 8 }, (_, nth) => `at-once-${nth}.example.com`);
    const submitted = names.map(
      async (name) => await running.submit('/static/ct/v1/add-chain', ca.chain(name)),
    );
    expect((await Promise.all(submitted)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  });

  it('may be any self-signed certificate in the chain with ACCEPT_ANY_ROOT', async () => {
    await start();
    const [leaf, issuer, root] = ca.chain('any.example.com') as [Buffer, Buffer, Buffer];
    const submit = async (chain: readonly Buffer[]) =>
      (await running.submit('/rfc6962/ct/v1/add-chain', chain)).status;
    expect(await submit([leaf, issuer, root])).toBe(200);
    expect(await submit([leaf, issuer])).toBe(400);
    expect(await submit([root])).toBe(200);
  });
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function allEntries(size: number): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for (let index = 0; index * tileWidth < size; index++) {
    const place = { index, width: Math.min(tileWidth, size - index * tileWidth) };
    const reading = readDataTile((await running.request(`/static/${tilePath('data', place)}`)).bytes, place);
    if (!reading.ok) throw new Error(reading.fault);
    entries.push(...reading.entries);
  }
  return entries;
}

const workspaceRoot = path.join(__dirname, '../..');

describe('the process', () => {
  it('has every entry with an SCT, however often it is killed', async () => {
    const bundling = `import('./tools/build/bundle.mjs').then(({ bundle }) => bundle({ main: 'tools/demo-log/main.ts' }, '${running.folder}/dist'))`;
    execFileSync(process.execPath, ['-e', bundling], { cwd: workspaceRoot });
    const promised = new Map<string, SctJson>();
    const port = String(await freePort());
    const env = {
      DATA_DIR: running.folder,
      PORT: port,
      FIXTURES: '0',
      MERGE_DELAY: '0',
      ACCEPT_ANY_ROOT: 'true',
    };
    running.url = `http://127.0.0.1:${port}`;
    const run = async (): Promise<Child> => {
      const child = await startChild(process.execPath, {
        args: [path.join(running.folder, 'dist/main.js')],
        cwd: workspaceRoot,
        env: { ...env, NODE_PATH: path.join(workspaceRoot, 'node_modules') },
      });
      await child.says(/"listening"/, 20_000);
      return child;
    };
    for (let kill = 0; kill < 3; kill++) {
      const child = await run();
      const before = promised.size;
      const lanes = Array.from({ length: 8 }, async (_, lane) => {
        for (let nth = 0; ; nth++) {
          const chain = ca.chain(`k${kill}-${lane}-${nth}.example.com`);
          const sct = await running.sct('/static/ct/v1/add-chain', chain);
          promised.set(sha256(chain[0] ?? Buffer.alloc(0)), sct);
        }
      });
      const stopped = Promise.allSettled(lanes);
      await eventually(() => expect(promised.size).toBeGreaterThan(before + 20 + 7 * kill));
      child.signal('SIGKILL');
      await child.ended;
      await stopped;
    }
    const last = await run();
    const [, size] = (await running.request('/static/checkpoint')).bytes.toString('utf8').split('\n');
    const entries = await allEntries(Number(size));
    for (const [fingerprint, { extensions, timestamp }] of promised) {
      const entry = entries[Buffer.from(extensions, 'base64').readUIntBE(3, 5)];
      const der = entry?.type === 'certificate' ? entry.certificateDer : Buffer.alloc(0);
      expect([sha256(der), entry?.timestamp]).toEqual([fingerprint, timestamp]);
    }
    expect((await last.stop()).code).toBe(0);
  }, 60_000);
});
