import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { startChild } from '@certwright/testing';
import { createAuditFile, type AuditFile } from './audit-files';
import { bundled } from './testing/bundled';
import {
  anIntent,
  auditFolder,
  breakOf,
  chainFiles,
  openLog,
  removeAuditFolders,
  summaryOf,
} from './testing/chains';

afterAll(removeAuditFolders);

const done = { result: 'done', problem: null } as const;
const lines = (folder: string) =>
  chainFiles(folder)
    .map(({ bytes }) => bytes.toString())
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Counts syncs and fails as configured by the spec. */
function faultyDisk() {
  const state = { syncs: 0, appends: 0, fault: null as null | 'append' | 'partly' | 'sync' | 'create' };
  const eio = Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' });
  const enospc = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  const createFile = async (name: string): Promise<AuditFile> => {
    if (state.fault === 'create') throw enospc;
    const file = await createAuditFile(name);
    return {
      append: async (bytes) => {
        state.appends += 1;
        if (state.fault === 'append') throw enospc;
        if (state.fault === 'partly') {
          await file.append(bytes.subarray(0, bytes.length >> 1));
          throw enospc;
        }
        await file.append(bytes);
      },
      sync: async () => {
        state.syncs += 1;
        if (state.fault === 'sync') throw eio;
        await file.sync();
      },
      close: async () => await file.close(),
    };
  };
  return { state, createFile };
}

describe('an audit log', () => {
  it('records the actor and the change before it is made, and the outcome after it', async () => {
    const folder = auditFolder();
    const log = await openLog(folder);
    const id = await log.intent(anIntent);
    await log.outcome(id, { result: 'failed', problem: 'the provider refused' });
    await log.intent({ ...anIntent, zone: null, decision: 'refused', reason: 'no zone' });
    await log.close();
    const [opened, intent, outcome, refused] = lines(folder);
    expect(opened).toMatchObject({ sequence: 1, kind: 'opened', instance: 'gateway-1', torn: [] });
    expect(intent).toEqual({
      sequence: 2,
      time: '2026-11-20T12:00:00.000Z',
      previous: opened?.['hash'],
      kind: 'intent',
      ...anIntent,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(outcome).toMatchObject({
      kind: 'outcome',
      intent: 2,
      result: 'failed',
      problem: 'the provider refused',
    });
    expect(refused).toMatchObject({
      sequence: 4,
      decision: 'refused',
      reason: 'no zone',
      previous: outcome?.['hash'],
    });
    expect(log.head()).toEqual({ sequence: 4, hash: refused?.['hash'] });
    expect(summaryOf(chainFiles(folder))).toMatchObject({
      entries: 4,
      intentsWithoutOutcome: [],
      head: log.head(),
    });
  });

  it('writes declared members only, limits their length and escapes terminal control characters', async () => {
    const folder = auditFolder();
    const log = await openLog(folder);
    const more = {
      ...anIntent,
      token: 'planted-secret',
      decision: 'refused',
      reason: '\u001b[2J\u202e\ud800é',
    } as const;
    await log.intent({ ...more, value: 'x'.repeat(100_000) });
    await expect(log.intent({ ...anIntent, value: 'x'.repeat(100_000) })).rejects.toThrow(RangeError);
    await log.close();
    const text = readFileSync(path.join(folder, 'gateway-1.00000001.jsonl'), 'latin1');
    expect(text).not.toContain('planted-secret');
    expect(text).toMatch(/^[\x20-\x7e\n]+$/);
    expect(text).toContain('x… (100000)'.replace('…', '\\u2026'));
    expect(text.length).toBeLessThan(3_000);
    expect(breakOf(chainFiles(folder))).toBeNull();
  });

  it('is readable by its owner only', async () => {
    const folder = auditFolder();
    const log = await openLog(folder);
    await log.close();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(folder, 'gateway-1.00000001.jsonl')).mode & 0o777).toBe(0o600);
  });

  it('shares one sync among intents that arrive together', async () => {
    const { state, createFile } = faultyDisk();
    const folder = auditFolder();
    const log = await openLog(folder, { createFile });
    state.syncs = 0;
    const ids = await Promise.all(Array.from({ length: 200 }, async () => await log.intent(anIntent)));
    expect(new Set(ids).size).toBe(200);
    expect(state.syncs).toBeLessThanOrEqual(2);
    await log.close();
    expect(summaryOf(chainFiles(folder))).toMatchObject({ entries: 201 });
  });

  it('continues one chain across restarts and files', async () => {
    const folder = auditFolder();
    for (let start = 0; start < 3; start += 1) {
      const log = await openLog(folder, { rotateAtBytes: 2_000 });
      for (let i = 0; i < 10; i += 1) await log.outcome(await log.intent(anIntent), done);
      await log.close();
    }
    const files = chainFiles(folder);
    expect(files.length).toBeGreaterThan(6);
    for (const { bytes } of files) expect(bytes.length).toBeLessThan(3_500);
    expect(summaryOf(files)).toMatchObject({ entries: 60 + files.length, tornLines: 0 });
  });

  it('keeps separate chains for instances that share a directory', async () => {
    const folder = auditFolder();
    const logs = await Promise.all(
      ['a', 'a.b', 'b'].map(async (instance) => await openLog(folder, { instance })),
    );
    for (const log of logs) await log.intent(anIntent);
    for (const log of logs) await log.close();
    for (const instance of ['a', 'b']) expect(breakOf(chainFiles(folder, instance).slice(0, 1))).toBeNull();
    const log = await openLog(folder, { instance: 'a' });
    expect(log.head().sequence).toBe(3);
    await log.close();
  });

  it('accepts an outcome once, and only for an allowed intent', async () => {
    const log = await openLog(auditFolder());
    const id = await log.intent(anIntent);
    await log.outcome(id, done);
    await expect(log.outcome(id, done)).rejects.toThrow('no intent');
    const refused = await log.intent({ ...anIntent, decision: 'refused' });
    await expect(log.outcome(refused, done)).rejects.toThrow('no intent');
    await log.close();
    await expect(log.intent(anIntent)).rejects.toThrow('closed');
  });

  it.each(['', '../x', 'a/b', '.hidden', 'x'.repeat(65)])(
    'refuses the instance name %j',
    async (instance) => {
      await expect(openLog(auditFolder(), { instance })).rejects.toThrow('instance');
    },
  );
});

describe('when the disk fails', () => {
  it.each(['append', 'partly', 'sync'] as const)(
    '%s: the intent rejects, and so does every later one',
    async (fault) => {
      const { state, createFile } = faultyDisk();
      const folder = auditFolder();
      const log = await openLog(folder, { createFile });
      const before = await log.intent(anIntent);
      const head = log.head();
      state.fault = fault;
      const together = await Promise.allSettled([
        log.intent(anIntent),
        log.intent(anIntent),
        log.outcome(before, done),
      ]);
      expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      // The disk works again, but its report on the last sync cannot be trusted.
      state.fault = null;
      state.appends = 0;
      await expect(log.intent(anIntent)).rejects.toThrow(/cannot be written \(E(IO|NOSPC)\)/);
      expect(state.appends).toBe(0);
      expect(log.failure()).not.toBeNull();
      expect(log.head()).toEqual(head);
      await log.close();
      await (await openLog(folder)).close();
      expect(summaryOf(chainFiles(folder)).tornLines).toBe(fault === 'partly' ? 1 : 0);
    },
  );

  it.each<[string, (file: string) => void, RegExp]>([
    ['deleted', unlinkSync, /ENOENT/],
    ['renamed', (file) => renameSync(file, `${file}.old`), /ENOENT/],
    ['cut', (file) => truncateSync(file, 10), /changed by somebody else/],
    ['written to by somebody else', (file) => appendFileSync(file, 'x\n'), /changed by somebody else/],
    [
      'replaced by a copy',
      (file) => {
        copyFileSync(file, `${file}.new`);
        renameSync(`${file}.new`, file);
      },
      /replaced/,
    ],
  ])('or its newest file was %s, the intent and every later one reject', async (_, harm, reason) => {
    const folder = auditFolder();
    const log = await openLog(folder);
    await log.intent(anIntent);
    harm(path.join(folder, 'gateway-1.00000001.jsonl'));
    await expect(log.intent(anIntent)).rejects.toThrow(reason);
    await expect(log.intent(anIntent)).rejects.toThrow(reason);
    expect(log.failure()).not.toBeNull();
    await log.close();
  });

  it('does not switch files when the next one cannot be created', async () => {
    const { state, createFile } = faultyDisk();
    const log = await openLog(auditFolder(), { createFile, rotateAtBytes: 1 });
    state.fault = 'create';
    await expect(log.intent(anIntent)).rejects.toThrow('ENOSPC');
    state.fault = null;
    await expect(log.intent(anIntent)).rejects.toThrow('ENOSPC');
    await log.close();
  });

  it('fails to open and leaves no lock', async () => {
    const { state, createFile } = faultyDisk();
    const folder = auditFolder();
    state.fault = 'sync';
    await expect(openLog(folder, { createFile })).rejects.toThrow('EIO');
    await (await openLog(folder)).close();
    expect(breakOf(chainFiles(folder))).toBeNull();
  });

  it('fails to open when the directory is not writable', async () => {
    const folder = auditFolder();
    writeFileSync(path.dirname(folder) + '/file', '');
    await expect(openLog(`${path.dirname(folder)}/file`)).rejects.toThrow();
    chmodSync(path.dirname(folder), 0o700);
  });
});

describe('after a crash', () => {
  /** A chain of five entries whose last file is shortened by this many bytes. */
  async function cutBy(bytes: number) {
    const folder = auditFolder();
    const log = await openLog(folder);
    for (let i = 0; i < 2; i += 1) await log.outcome(await log.intent(anIntent), done);
    await log.close();
    const file = path.join(folder, 'gateway-1.00000001.jsonl');
    truncateSync(file, statSync(file).size - bytes);
    return { folder, file };
  }

  it.each([2, 10, 60, 100, 200])(
    'a last line torn %d bytes before its end is kept and recorded',
    async (bytes) => {
      const { folder, file } = await cutBy(bytes);
      const torn = readFileSync(file);
      expect(breakOf(chainFiles(folder))).toMatch(/:5: the last line has no end/);
      await (await openLog(folder)).close();
      expect(readFileSync(file)).toEqual(Buffer.concat([torn, Buffer.from('\n')]));
      expect(summaryOf(chainFiles(folder))).toMatchObject({
        entries: 5,
        tornLines: 1,
        intentsWithoutOutcome: [4],
      });
    },
  );

  it('accepts a last line that lacks only its newline as an entry', async () => {
    const { folder } = await cutBy(1);
    await (await openLog(folder)).close();
    expect(summaryOf(chainFiles(folder))).toMatchObject({ entries: 6, tornLines: 0 });
  });

  it('records repeated crashes during start in one entry', async () => {
    const { folder } = await cutBy(50);
    // Started, ended the torn line, and crashed before, while and after it wrote the next file.
    appendFileSync(path.join(folder, 'gateway-1.00000001.jsonl'), '\n');
    writeFileSync(path.join(folder, 'gateway-1.00000002.jsonl'), '');
    writeFileSync(path.join(folder, 'gateway-1.00000003.jsonl'), '{"sequence":5,"time":"2026-1');
    writeFileSync(path.join(folder, 'gateway-1.00000004.jsonl'), '\0\0\0\0');
    const log = await openLog(folder);
    await log.intent(anIntent);
    await log.close();
    expect(summaryOf(chainFiles(folder))).toMatchObject({ entries: 6, files: 5, tornLines: 3 });
  });

  it('accepts a torn line only where and as it was recorded', async () => {
    const { folder } = await cutBy(50);
    await (await openLog(folder)).close();
    const [first, second] = chainFiles(folder);
    if (first === undefined || second === undefined) throw new Error('two files');
    const lengthened = { ...first, bytes: Buffer.concat([first.bytes.subarray(0, -1), Buffer.from('x\n')]) };
    expect(breakOf([lengthened, second])).toMatch(/00000002.jsonl:1: it does not record/);
    const without = { ...first, bytes: first.bytes.subarray(0, first.bytes.lastIndexOf('\n', -2) + 1) };
    expect(breakOf([without, second])).toMatch(/00000002.jsonl:1: it does not record/);
    expect(breakOf([first])).toMatch(/00000001.jsonl:5: a torn line that no entry records/);
    const between = { name: 'between', bytes: Buffer.from('{"sequence":\n') };
    expect(breakOf([first, between, second])).toMatch(/does not record/);
  });

  it('does not treat a changed line as torn, and appends nothing to it', async () => {
    const { folder, file } = await cutBy(0);
    writeFileSync(file, readFileSync(file, 'latin1').replace('"value":"L', '"value":"M'));
    await expect(openLog(folder)).rejects.toThrow(/00000001.jsonl:2: the hash is not that of the entry/);
  });

  it('continues when older files were moved to an archive', async () => {
    const { folder, file } = await cutBy(0);
    await (await openLog(folder)).close();
    renameSync(file, path.join(folder, 'archived'));
    const log = await openLog(folder);
    expect(log.head().sequence).toBe(7);
    await log.close();
  });
});

describe('two processes with one instance name', () => {
  it('the second fails to start until the first has ended', async () => {
    const folder = auditFolder();
    const first = await openLog(folder);
    await expect(openLog(folder)).rejects.toThrow(`written by process ${process.pid} on ${hostname()}`);
    await first.close();
    await (await openLog(folder)).close();
  });

  it.each([
    ['ended', (own: Record<string, unknown>) => ({ ...own, pid: 2 ** 22 + 1 })],
    ['has the pid of another one now', (own: Record<string, unknown>) => ({ ...own, startTick: '1' })],
    ['ran before the last boot', (own: Record<string, unknown>) => ({ ...own, boot: 'earlier' })],
  ])('takes over a lock whose process %s', async (_, stale) => {
    const folder = auditFolder();
    const lock = path.join(folder, 'gateway-1.lock');
    const log = await openLog(folder);
    const own = JSON.parse(readFileSync(lock, 'utf8')) as Record<string, unknown>;
    await log.close();
    writeFileSync(lock, JSON.stringify(stale(own)));
    await (await openLog(folder)).close();
  });

  it.each([
    ['of another host', '{"host":"elsewhere","boot":"x","pid":1,"startTick":"1"}', 'process 1 on elsewhere'],
    ['that is not readable', '', 'an unknown process'],
  ])('never takes over a lock %s', async (_, content, holder) => {
    const folder = auditFolder();
    await (await openLog(folder)).close();
    writeFileSync(path.join(folder, 'gateway-1.lock'), content);
    await expect(openLog(folder)).rejects.toThrow(holder);
  });

  it('the first stops when the second did not detect it and took over the lock', async () => {
    const folder = auditFolder();
    const lock = path.join(folder, 'gateway-1.lock');
    const first = await openLog(folder);
    // As seen from another machine of the same name.
    const own = JSON.parse(readFileSync(lock, 'utf8')) as Record<string, unknown>;
    writeFileSync(lock, JSON.stringify({ ...own, boot: 'of the other machine' }));
    const second = await openLog(folder);
    await expect(first.intent(anIntent)).rejects.toThrow('its lock is no longer its own');
    await first.close();
    await second.intent(anIntent);
    await second.close();
    expect(summaryOf(chainFiles(folder))).toMatchObject({ entries: 3 });
  });

  it('exactly one of many processes takes over a stale lock', async () => {
    const folder = auditFolder();
    await (await openLog(folder)).close();
    writeFileSync(
      path.join(folder, 'gateway-1.lock'),
      `{"host":"${hostname()}","boot":"x","pid":1,"startTick":"1"}`,
    );
    const starts = await Promise.allSettled(Array.from({ length: 8 }, async () => await openLog(folder)));
    const open = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    expect(open).toHaveLength(1);
    await open[0]?.close();
    expect(breakOf(chainFiles(folder))).toBeNull();
  });
});

describe('kill -9 of a writing process', () => {
  it('leaves a valid chain with every acknowledged entry', async () => {
    const folder = auditFolder();
    const writer = bundled(path.join(__dirname, 'testing/endless-writer.ts'), path.dirname(folder));
    let promised = 0;
    for (let kill = 0; kill < 5; kill += 1) {
      const child = await startChild(process.execPath, {
        args: ['-r', '@swc-node/register', writer, folder],
      });
      await child.says(new RegExp(`entry \\d+\\n(?:.*\\n){${kill * 7}}`), 30_000);
      child.signal('SIGKILL');
      await child.ended;
      const ids = [...child.output().matchAll(/^entry (\d+)$/gm)].map(([, id]) => Number(id));
      promised = Math.max(promised, ...ids);
      const log = await openLog(folder);
      expect(log.head().sequence).toBeGreaterThan(promised);
      await log.close();
      expect(breakOf(chainFiles(folder))).toBeNull();
    }
    expect(promised).toBeGreaterThan(40);
  }, 120_000);
});
