import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Child, startChild } from '@certwright/testing';

const source = path.join(__dirname, '../testing/sample-process.ts');

interface Line {
  readonly msg: string;
  readonly [member: string]: unknown;
}

const startSample = (...settings: string[]): Promise<Child> =>
  startChild(process.execPath, { args: ['-r', '@swc-node/register', source, ...settings] });

/** The process's log so far; a line that is no JSON went to standard error. */
function linesOf(child: Child): Line[] {
  const lines = child
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Line);
}
const messagesOf = (child: Child): string[] => linesOf(child).map(({ msg }) => msg);

describe('a process', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'lifecycle-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('writes its id, serves health and metrics, and on SIGTERM closes what it opened, the last first, and exits 0', async () => {
    const pidFile = path.join(folder, 'run/sample.pid');
    const sample = await startSample(`PID_FILE=${pidFile}`);
    await sample.says(/"started"/);
    expect(readFileSync(pidFile, 'utf8')).toBe(`${sample.pid}\n`);
    const ready = await fetch(`${String(linesOf(sample)[0]?.['operations'])}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([200, '{"ready":true,"state":"running","checks":{}}']);
    sample.signal('SIGTERM');
    expect(await sample.ended).toMatchObject({ code: 0 });
    expect(messagesOf(sample)).toEqual(['started', 'stopping', 'http closed', 'database closed', 'stopped']);
    expect(existsSync(pidFile)).toBe(false);
  });

  it('is not ready after SIGTERM, and closes nothing before SHUTDOWN_DELAY is over', async () => {
    const [delayed, endless] = await Promise.all([
      startSample('SHUTDOWN_DELAY=1s'),
      startSample('SHUTDOWN_DELAY=10m'),
    ]);
    for (const sample of [delayed, endless]) {
      await sample.says(/"started"/);
      sample.signal('SIGTERM');
      await sample.says(/"stopping"/);
    }
    const { status } = await fetch(`${String(linesOf(endless)[0]?.['operations'])}/readyz`);
    expect(status).toBe(503);
    expect(await delayed.ended).toMatchObject({ code: 0 });
    const [begun, ended] = ['stopping', 'http closed'].map((msg) =>
      Date.parse(String(linesOf(delayed).find((line) => line.msg === msg)?.['time'])),
    );
    expect((ended ?? NaN) - (begun ?? NaN)).toBeGreaterThanOrEqual(990);
    endless.signal('SIGTERM');
    expect(await endless.ended).toMatchObject({ code: 1 });
    expect(messagesOf(endless)).toEqual(['started', 'stopping', 'stopped at once by a second signal']);
  });

  it('exits at once on a second signal', async () => {
    const sample = await startSample('BEHAVIOUR=hang');
    await sample.says(/"started"/);
    sample.signal('SIGINT');
    await sample.says(/"stopping"/);
    sample.signal('SIGINT');
    expect(await sample.ended).toMatchObject({ code: 1 });
    expect(messagesOf(sample)).toEqual(['started', 'stopping', 'stopped at once by a second signal']);
  });

  it('exits 1 and names what does not close in time', async () => {
    const sample = await startSample('BEHAVIOUR=hang', 'DRAIN_TIME=0s');
    await sample.says(/"started"/);
    sample.signal('SIGTERM');
    expect(await sample.ended).toMatchObject({ code: 1 });
    expect(linesOf(sample).at(-1)).toMatchObject({ msg: 'did not close in time', resource: 'http' });
  }, 30_000);

  it.each([
    ['reject', 'unhandledRejection'],
    ['throw', 'uncaughtException'],
  ])('dies with 1 and a fatal line of what was not caught (%s)', async (behaviour, msg) => {
    const pidFile = path.join(folder, `${behaviour}.pid`);
    const sample = await startSample(`BEHAVIOUR=${behaviour}`, `PID_FILE=${pidFile}`);
    expect(await sample.ended).toMatchObject({ code: 1 });
    expect(linesOf(sample).at(-1)).toMatchObject({
      level: 'fatal',
      msg,
      err: { message: 'not caught', stack: expect.any(String) as string },
    });
    expect(existsSync(pidFile)).toBe(false);
  });

  it('that cannot start closes what is open and tells why', async () => {
    const sample = await startSample('BEHAVIOUR=fail-to-start');
    expect(await sample.ended).toMatchObject({ code: 1 });
    expect(messagesOf(sample)).toEqual(['http closed', 'database closed', 'cannot start']);
    expect(linesOf(sample).at(-1)).toMatchObject({ level: 'fatal', err: { message: 'no such table' } });
  });

  it('names every bad setting and exits 1', async () => {
    const sample = await startSample('BEHAVIOUR=dance', 'OPS_PORT=http');
    expect(await sample.ended).toMatchObject({ code: 1 });
    expect(sample.output().split('\n')).toEqual([
      'sample cannot start: 2 settings are invalid:',
      '  OPS_PORT is not a whole number from 0 to 65535 (port)',
      '  BEHAVIOUR is none of serve, hang, reject, throw, fail-to-start',
      '',
    ]);
  });

  it('says which port is taken and exits 1', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    for (const setting of [`PORT=${port}`, `OPS_PORT=${port}`]) {
      const sample = await startSample(setting);
      expect(await sample.ended).toMatchObject({ code: 1 });
      expect(sample.output()).toContain(
        `sample cannot start: port ${port} on 127.0.0.1 is taken by another process`,
      );
    }
    await new Promise((resolve) => other.close(resolve));
  });
});
