import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import fc from 'fast-check';
import { chainStart } from './audit-entry';
import { readLine, writeLine } from './audit-line';
import { ChainCheck } from './chain-check';
import {
  anIntent,
  auditFolder,
  breakOf,
  type ChainFile,
  chainFiles,
  openLog,
  removeAuditFolders,
} from './testing/chains';
import { bundled } from './testing/bundled';

afterAll(removeAuditFolders);

const workspaceRoot = path.join(__dirname, '../../../..');
let folder: string;
let files: readonly ChainFile[];
let head: { sequence: number; hash: string };

/** Three files: one full, one with a torn last line, one after the crash; an intent without outcome. */
beforeAll(async () => {
  folder = auditFolder();
  const log = await openLog(folder, { rotateAtBytes: 1_500 });
  for (let i = 0; i < 3; i += 1)
    await log.outcome(await log.intent(anIntent), { result: 'done', problem: null });
  await log.close();
  const [torn] = chainFiles(folder).slice(-1);
  execFileSync('truncate', ['-s', '-40', path.join(folder, torn?.name ?? '')]);
  const next = await openLog(folder);
  const id = await next.intent(anIntent);
  await next.outcome(id, { result: 'unknown', problem: 'no answer' });
  head = next.head();
  await next.close();
  files = chainFiles(folder);
});

const changed = (index: number, change: (bytes: Buffer) => Buffer): readonly ChainFile[] =>
  files.map((file, at) => (at === index ? { ...file, bytes: change(Buffer.from(file.bytes)) } : file));
const linesOf = (bytes: Buffer) => bytes.toString('latin1').split(/(?<=\n)/);
const ofLines = (lines: readonly string[]) => Buffer.from(lines.join(''), 'latin1');

describe('a chain', () => {
  it('is valid when unchanged', () => {
    expect(breakOf(files, head)).toBeNull();
    expect(files.length).toBeGreaterThanOrEqual(3);
  });

  it('is broken by a change of any one byte anywhere', () => {
    const position = fc
      .nat({ max: files.length - 1 })
      .chain((index) => fc.tuple(fc.constant(index), fc.nat({ max: (files[index]?.bytes.length ?? 1) - 1 })));
    fc.assert(
      fc.property(position, fc.integer({ min: 1, max: 255 }), ([index, at], flip) => {
        const altered = changed(index, (bytes) => {
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          return bytes;
        });
        expect(breakOf(altered, head)).not.toBeNull();
      }),
      { numRuns: 3_000 },
    );
  });

  it('is broken by a bit flip of every byte of it', () => {
    files.forEach((file, index) => {
      for (let at = 0; at < file.bytes.length; at += 1) {
        const altered = changed(index, (bytes) => {
          bytes[at] = (bytes[at] ?? 0) ^ 1;
          return bytes;
        });
        if (breakOf(altered, head) === null) throw new Error(`${file.name}, byte ${at}`);
      }
    });
  }, 60_000);

  it('is broken by a byte removed or inserted anywhere', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 1_400 }),
        fc.nat({ max: files.length - 1 }),
        fc.integer({ min: -1, max: 255 }),
        (at, index, put) => {
          const altered = changed(index, (bytes) =>
            Buffer.concat([
              bytes.subarray(0, at),
              Buffer.from(put < 0 ? [] : [put]),
              bytes.subarray(put < 0 ? at + 1 : at),
            ]),
          );
          if (altered[index]?.bytes.equals(files[index]?.bytes ?? Buffer.alloc(0))) return;
          expect(breakOf(altered, head)).not.toBeNull();
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, (lines: string[]) => string[], RegExp]>([
    ['an entry is taken out', ([a = '', , ...rest]) => [a, ...rest], /:2: entry 3 is where 2 belongs/],
    ['an entry is there twice', ([a = '', b = '', ...rest]) => [a, b, b, ...rest], /:3: entry 2 is where 3/],
    [
      'entries change places',
      ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest],
      /:2: entry 3 is where/,
    ],
    ['the first entry is taken out', ([, ...rest]) => rest, /:1: entry 2 is where 1/],
    ['a blank line is put in', ([a = '', ...rest]) => [a, '\n', ...rest], /:2: this is no entry/],
    [
      'a line ends in CR LF',
      ([a = '', ...rest]) => [a.replace('\n', '\r\n'), ...rest],
      /:1: this is no entry/,
    ],
    [
      'a member is doubled',
      ([a = '', ...rest]) => [a.replace('{', '{"sequence":1,'), ...rest],
      /:1: the hash/,
    ],
  ])('is broken where %s', (_, change, reason) => {
    expect(breakOf(changed(0, (bytes) => ofLines(change(linesOf(bytes)))))).toMatch(reason);
  });

  it('is broken after a rewritten entry, even with a matching hash', () => {
    const altered = changed(0, (bytes) => {
      const [first = '', second = '', ...rest] = linesOf(bytes);
      const opened = readLine(Buffer.from(first.trimEnd()));
      const intent = readLine(Buffer.from(second.trimEnd()));
      if (!opened.ok || !intent.ok || intent.line.content.kind !== 'intent') throw new Error('an intent');
      const content = { ...intent.line.content, client: 'someone-else' };
      const forged = writeLine(opened.line, new Date(intent.line.time), content);
      return ofLines([first, forged.bytes.toString(), ...rest]);
    });
    expect(breakOf(altered)).toMatch(/:3: entry 3 follows another entry than the one before it/);
  });

  it('is broken where a file is missing, duplicated or out of order', () => {
    const [a, b, c] = files as [ChainFile, ChainFile, ChainFile];
    for (const order of [
      [b, c],
      [a, c],
      [a, a, b, c],
      [b, a, c],
      [a, b, b, c],
    ]) {
      expect(breakOf(order)).not.toBeNull();
    }
  });

  it('is broken where its tail is cut off, when a later head is known', () => {
    const cut = changed(files.length - 1, (bytes) => ofLines(linesOf(bytes).slice(0, -1)));
    expect(breakOf(cut)).toBeNull();
    expect(breakOf(cut, head)).toMatch(
      `the chain ends with entry ${head.sequence - 1}, and ${head.sequence} was written once`,
    );
  });

  it('is broken where the last file is missing, when a later head is known', () => {
    expect(breakOf(files.slice(0, -1), head)).not.toBeNull();
  });

  it('is valid with a kept head and any number of later entries', () => {
    const entries = files
      .flatMap(({ bytes }) => linesOf(bytes))
      .map((line) => readLine(Buffer.from(line.trimEnd())));
    const heads = entries.flatMap((read) => (read.ok ? [read.line] : []));
    for (const kept of heads) expect(breakOf(files, kept)).toBeNull();
    expect(breakOf(files, { sequence: 2, hash: chainStart.hash })).toMatch(
      /:2: entry 2 is not the one that was kept/,
    );
  });

  it('continues after the head of an earlier verification', () => {
    const check = new ChainCheck();
    expect(check.take('first', files[0]?.bytes ?? Buffer.alloc(0))).toBeNull();
    const rest = files.slice(1);
    expect(breakOf(rest, null, new ChainCheck(check.summary().head, head))).toBeNull();
    expect(breakOf(rest, null, new ChainCheck({ sequence: 1, hash: chainStart.hash }))).not.toBeNull();
  });

  it('is broken where files of another instance follow', async () => {
    const other = auditFolder();
    await (await openLog(other, { instance: 'gateway-2' })).close();
    expect(breakOf([...files, ...chainFiles(other, 'gateway-2')])).not.toBeNull();
  });
});

describe('audit verify', () => {
  const command = (file: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
      encoding: 'utf8',
      cwd: workspaceRoot,
    });
    return { status, stdout, stderr };
  };
  let program: string;
  beforeAll(() => (program = bundled(path.join(__dirname, 'verify.ts'), path.dirname(folder))));
  const run = (...args: string[]) => command(program, ...args);
  const paths = () => files.map(({ name }) => path.join(folder, name));

  it('prints entries, first and last time, head and intents without outcome', () => {
    const { status, stdout } = run('verify', '--head', `${head.sequence}:${head.hash}`, ...paths());
    expect(stdout).toMatch(
      /^instance +gateway-1\nfiles +\d+\nentries +\d+\nfirst +2026-11-20T12:00:00.000Z\n/,
    );
    expect(stdout).toMatch(/intents without outcome +1 \(\d+\)\ntorn lines +1\nhead/);
    expect(stdout).toContain(`${head.sequence}:${head.hash}\n`);
    expect(status).toBe(0);
  }, 30_000);

  it('runs as a workspace tool', () => {
    const { status, stdout } = command('tools/audit/main.mjs', 'verify', ...paths());
    expect({ status, stdout }).toEqual({ status: 0, stdout: run('verify', ...paths()).stdout });
  }, 60_000);

  it('exits 1 with file, line and reason at the first break', () => {
    const { status, stdout, stderr } = run('verify', ...paths().slice(1));
    expect(stderr).toMatch(/00000002\.jsonl:1: entry \d+ is where 1 belongs\n$/);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  }, 30_000);

  it.each([
    [['verify']],
    [['check', 'x']],
    [['verify', '--head', 'x', 'y']],
    [['verify', '--after', `9:${chainStart.hash}`, '--head', `9:${chainStart.hash}`, 'x']],
    [['verify', '/nonexistent']],
  ])(
    'exits 2 with invalid arguments: %j',
    (args) => {
      expect(run(...args)).toMatchObject({ status: 2, stdout: '' });
    },
    30_000,
  );
});
