import { createSocket } from 'node:dgram';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { launch, run, untilReady } from './child.mjs';
import { freePort, isFree, preferredPort } from './ports.mjs';
import { isGone, isOurs, readPid, send, stopProcess } from './process.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(path.join(process.env.CERTWRIGHT_TEST_RUN, 'process-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const node = (program, more) => {
  const logFile = path.join(folder, 'log');
  return launch({ command: process.execPath, args: ['-e', program], logFile, ...more });
};

describe('a child', () => {
  it('has a pid file while it runs', async () => {
    const pidFile = path.join(folder, 'run/child.pid');
    const child = await node('setInterval(() => {}, 1000)', { pidFile });
    expect(readPid(pidFile)).toBe(child.pid);
    expect(await stopProcess(child.pid)).toBe(true);
    await child.ended;
    expect(readPid(pidFile)).toBeUndefined();
  });

  it('that exits before it is ready is reported with the last lines of its log', async () => {
    const child = await node('console.error("no such setting: PORT"); process.exit(3)');
    const ready = untilReady(() => false, { child, what: 'The app', withinMs: 20_000 });
    await expect(ready).rejects.toThrow(/The app ended.*exit code 3.*no such setting: PORT/s);
  });

  it('that is not ready in time is reported too', async () => {
    const child = await node('setInterval(() => {}, 1000)');
    const ready = untilReady(() => false, { child, what: 'The app', withinMs: 100 });
    await expect(ready).rejects.toThrow('The app was not ready within 0.1 s');
    await stopProcess(child.pid);
  });

  it('that ignores SIGTERM is killed after the grace period', async () => {
    const child = await node(
      'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("ready")',
    );
    const isDeaf = () => readFileSync(child.logFile, 'utf8').includes('ready');
    await untilReady(isDeaf, { child, what: 'It', withinMs: 20_000 });
    expect(await stopProcess(child.pid, { graceMs: 50 })).toBe(false);
    expect(await child.ended).toBe('signal SIGKILL');
  });

  it('that is frozen is stopped too', async () => {
    const child = await node('setInterval(() => {}, 1000)');
    send(child.pid, 'SIGSTOP');
    expect(await stopProcess(child.pid)).toBe(true);
  });
});

describe('a number in a pid file', () => {
  const pidFile = () => path.join(folder, 'pid');

  it('is ours only with our command line', async () => {
    const child = await node('setInterval(() => {}, 1000)');
    writeFileSync(pidFile(), `${child.pid}\n`);
    expect(isOurs(readPid(pidFile()), 'setInterval')).toBe(true);
    expect(isOurs(readPid(pidFile()), '/dist/apps/orders-v3/main.js')).toBe(false);
    await stopProcess(child.pid);
    await child.ended;
    expect(isOurs(child.pid, 'setInterval')).toBe(false);
  });

  it.each(['', 'nonsense\n', '0\n', '1\n', '-5\n'])('is undefined for the content %j', (content) => {
    writeFileSync(pidFile(), content);
    expect(readPid(pidFile())).toBeUndefined();
  });
});

describe('a program that exits', () => {
  it('returns its output', async () => {
    expect(await run('cat', [], { input: 'text' })).toEqual({ stdout: 'text', stderr: '' });
  });

  it('is reported with its output when it fails', async () => {
    await expect(run('sh', ['-c', 'echo "disk full" >&2; exit 4'])).rejects.toThrow(
      /sh failed \(exit code 4\).*disk full/s,
    );
  });

  it('is killed with its descendants after the timeout', async () => {
    let grandchild = NaN;
    // Until there was time enough for it to say whom it started.
    for (let timeoutMs = 200; !(grandchild > 1) && timeoutMs < 20_000; timeoutMs *= 4) {
      const long = run('sh', ['-c', 'sleep 60 & echo $!; wait'], { timeoutMs });
      const message = await long.catch((error) => error.message);
      expect(message).toContain('signal SIGKILL');
      grandchild = Number(/\| (\d+)/.exec(message)?.[1]);
    }
    expect(grandchild).toBeGreaterThan(1);
    expect(await isGone(grandchild, 20_000)).toBe(true);
  });
});

describe('ports', () => {
  let taken;
  let server;
  beforeEach(async () => {
    taken = await freePort();
    server = createServer();
    await new Promise((resolve) => server.listen(taken, '127.0.0.1', resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  it('in use are skipped', async () => {
    expect(await isFree(taken)).toBe(false);
    expect(await preferredPort(taken)).toBeGreaterThan(taken);
  });

  it('are assigned only once', async () => {
    const assigned = new Set();
    const first = await preferredPort(taken, { taken: assigned });
    const second = await preferredPort(taken, { taken: assigned });
    expect(second).toBeGreaterThan(first);
    expect([...assigned]).toEqual([first, second]);
  });

  it('for UDP are free for UDP too', async () => {
    const socket = createSocket('udp4');
    const port = await new Promise((resolve) => {
      socket.bind(0, '127.0.0.1', () => resolve(socket.address().port));
    });
    expect(await preferredPort(port, { udp: true })).toBeGreaterThan(port);
    await new Promise((resolve) => socket.close(resolve));
  });
});
