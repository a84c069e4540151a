import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LogFile, LogFileFault } from './log-file';

const bodies = ['first', 'the second one', 'x'.repeat(40)].map((text) => Buffer.from(text));

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'log-file-'));
  file = path.join(folder, 'a.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function opened(): Promise<{ log: LogFile; found: string[] }> {
  const found: string[] = [];
  const log = await LogFile.open(file, ({ body }) => void found.push(body.toString()));
  await log.cutOff();
  return { log, found };
}

async function found(): Promise<string[]> {
  const { log, found } = await opened();
  await log.close();
  return found;
}

async function written(...some: readonly Buffer[]): Promise<Buffer> {
  const { log } = await opened();
  await log.append(some);
  await log.close();
  return readFileSync(file);
}

describe('the file of a log', () => {
  it('returns appended records, also by position', async () => {
    const { log } = await opened();
    const places = [...(await log.append(bodies.slice(0, 2))), ...(await log.append(bodies.slice(2)))];
    for (const [nth, at] of places.entries())
      expect(await log.read(at, bodies[nth]?.length ?? 0)).toEqual(bodies[nth]);
    await log.close();
    expect(await found()).toEqual(bodies.map(String));
  });

  it('loses only the truncated record, wherever it was truncated', async () => {
    const kept = (await written(...bodies.slice(0, 2))).length;
    const whole = await written(...bodies.slice(2));
    for (let length = kept; length < whole.length; length++) {
      writeFileSync(file, whole.subarray(0, length));
      expect([length, await found()]).toEqual([length, bodies.slice(0, 2).map(String)]);
      expect(readFileSync(file)).toHaveLength(kept);
    }
  });

  it('continues after the last complete record', async () => {
    const whole = await written(...bodies);
    truncateSync(file, whole.length - 1);
    const { log } = await opened();
    expect(log.cutBytes).toBe(40 + 8 - 1);
    await log.append([Buffer.from('after')]);
    await log.close();
    expect(await found()).toEqual(['first', 'the second one', 'after']);
  });

  it.each([
    ['zeroes, as a file has that was lengthened before it was written', Buffer.alloc(4_096)],
    ['a length that no record has', Buffer.from('ffffffff00000000', 'hex')],
    ['another body than the checksum says', Buffer.from('00000001000000006d', 'hex')],
  ])('is cut off before %s', async (_, tail) => {
    const whole = await written(...bodies);
    writeFileSync(file, Buffer.concat([whole, tail]));
    expect(await found()).toEqual(bodies.map(String));
    expect(readFileSync(file)).toEqual(whole);
  });

  it('is created again when its head is incomplete', async () => {
    writeFileSync(file, 'certwright-de');
    expect(await found()).toEqual([]);
    await written(...bodies);
    expect(await found()).toEqual(bodies.map(String));
  });

  it('of another format is refused and not changed', async () => {
    writeFileSync(file, 'certwright-demo-log-2\n and what is in it');
    await expect(opened()).rejects.toThrow(LogFileFault);
    expect(readFileSync(file, 'utf8')).toBe('certwright-demo-log-2\n and what is in it');
  });

  it('accepts no records after a failed write', async () => {
    const { log } = await opened();
    await log.close();
    await expect(log.append(bodies)).rejects.toThrow('closed');
    await expect(log.append(bodies)).rejects.toThrow('An earlier write failed');
  });
});
