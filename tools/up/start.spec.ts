import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { type Child, eventually, isAlive, startChild } from '@certwright/testing';
import { describeCertificateClients, type Started, startWebServer } from '../e2e/certs-v2-clients';
import { describeManagedDemo } from '../e2e/managed-demo';
import { connectionsAtRest, documentedConnections } from '../e2e/connections';
import { freePortOffset } from '../e2e/port-offset';

const root = path.join(__dirname, '../..');
/** Bundling, initdb, migrations and every app, on a machine that runs other specs at the same time. */
const startWithinMs = 300_000;
jest.setTimeout(startWithinMs);

interface State extends Started {
  readonly database_url: string;
  readonly redis_url: string;
  readonly supervisor: number | null;
  readonly ops: Readonly<Record<string, string>>;
  readonly pid_files: Readonly<Record<string, string>>;
}

let home: string;
let offset: string;
let webServer: Awaited<ReturnType<typeof startWebServer>>;
beforeAll(async () => {
  home = mkdtempSync(path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'start-'));
  // A Redis that this run had to fetch is not fetched again.
  symlinkSync(path.join(root, '.certwright/redis-binaries'), path.join(home, 'redis-binaries'));
  offset = await freePortOffset();
  webServer = await startWebServer();
});
afterAll(async () => {
  webServer.close();
  // Only a failed spec leaves any: the supervisor itself was killed by then.
  for (const pid of Object.values(pids())) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  await eventually(() => rmSync(home, { recursive: true, force: true }));
});

const start = (folder = home) => {
  // Not as a child of npm, even if npm started these specs.
  const env = {
    CERTWRIGHT_HOME: folder,
    PORT_OFFSET: offset,
    PROBE_HTTP_PORT: String(webServer.port),
    npm_lifecycle_event: undefined,
  };
  return startChild(process.execPath, { args: ['tools/up/start.mjs'], cwd: root, env });
};
const isReady = (child: Child) => child.says(/Ctrl-C stops everything/, startWithinMs);
const state = () => JSON.parse(readFileSync(path.join(home, 'start.json'), 'utf8')) as State;

/** Process name → pid, as the pid files say at this moment. */
function pids(): Record<string, number> {
  const folder = path.join(home, 'run');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return Object.fromEntries(
    files.map((file) => [path.basename(file, '.pid'), Number(readFileSync(path.join(folder, file), 'utf8'))]),
  );
}

const orders = async ({ apis, api_key }: State) =>
  await fetch(`${apis['orders_v3']}/api/v3/orders`, { headers: { authorization: `Bearer ${api_key}` } });

describe('npm start', () => {
  let child: Child;
  let first: State;

  beforeAll(async () => {
    child = await start();
    await isReady(child);
    first = state();
  });

  it('stores a valid API key in a file that only the owner can read', async () => {
    expect((await orders(first)).status).toBe(200);
    expect(statSync(path.join(home, 'start.json')).mode & 0o777).toBe(0o600);
  });

  it('lists processes with pids, apps with health URLs, and the sandbox’s root certificate', async () => {
    expect(Object.keys(first.pid_files).sort()).toEqual(Object.keys(pids()).sort());
    expect(Object.values(pids()).every(isAlive)).toBe(true);
    for (const url of Object.values(first.ops)) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(readFileSync(first.sandbox_root, 'utf8')).toContain('BEGIN CERTIFICATE');
  });

  it('has search results within the first minute', async () => {
    await eventually(
      async () => {
        const found = await fetch(
          `${first.apis['ct_search']}/v1/issuances?domain=example.com&include_subdomains=true`,
        );
        expect(((await found.json()) as unknown[]).length).toBeGreaterThan(50);
      },
      // Without a key there are few such queries an hour.
      { withinMs: 120_000, everyMs: 8_000 },
    );
  });

  it('opens the connections that docs/operating.md lists', async () => {
    const documented = documentedConnections();
    await eventually(
      async () => {
        const open = await connectionsAtRest(first.database_url, first.redis_url);
        expect([...open.keys()].sort()).toEqual([...documented.keys()].sort());
        for (const [process, { redis, core, ct }] of documented) {
          const own = open.get(process);
          expect({ process, redis: own?.redis }).toEqual({ process, redis });
          expect({ process, core: (own?.core ?? 0) <= core.max, ct: (own?.ct ?? 0) <= ct.max }).toEqual({
            process,
            core: true,
            ct: true,
          });
        }
      },
      { withinMs: 60_000, everyMs: 500 },
    );
  });

  it('refuses a second start with the same folder and changes nothing', async () => {
    const second = await start();
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.output()).toMatch(`already running from ${home} (pid ${child.pid})`);
    expect(state()).toEqual(first);
    expect((await orders(first)).status).toBe(200);
  });

  it('lists the ports in use when another checkout runs with the same ones, and changes nothing', async () => {
    const other = mkdtempSync(path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'start-'));
    const second = await start(other);
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.output()).toMatch(`  ${4310 + Number(offset)}  orders-v3 (http)\n`);
    expect(second.output()).toMatch(`  ${4390 + Number(offset)}  postgres (tcp)\n`);
    expect(second.output()).toMatch(/PORT_OFFSET=\d+ npm start\n$/);
    expect(readdirSync(other)).toEqual(['run']);
    expect((await orders(first)).status).toBe(200);
  });

  describe('the demo of managed orders', () => describeManagedDemo(() => home));

  describe('the certificate API', () => describeCertificateClients(() => ({ started: first, folder: home })));

  it('lets nx serve take over an app with the same settings, and restarts its copy afterwards', async () => {
    const served = await startChild(process.execPath, {
      args: ['tools/up/serve.mjs', 'apps/notifier'],
      cwd: root,
      env: { CERTWRIGHT_HOME: home },
    });
    await served.says(/"msg":"started"/, startWithinMs);
    const { notifier: pid = 0 } = pids();
    expect(served.output()).toMatch(`"pid":${pid},`);
    await eventually(async () => expect((await fetch(`${first.ops['notifier']}/readyz`)).status).toBe(200), {
      withinMs: startWithinMs,
    });
    served.signal('SIGKILL');
    await child.says(/notifier is running again/, startWithinMs);
    expect(isAlive(pid)).toBe(false);
    expect((await fetch(`${first.ops['notifier']}/readyz`)).status).toBe(200);
  });

  it.each(['orders-v3', 'redis', 'postgres'])(
    'starts %s again when it dies, at the same address',
    async (name) => {
      const { [name]: dead = 0 } = pids();
      process.kill(dead, 'SIGKILL');
      await child.says(new RegExp(`${name} is running again`), startWithinMs);
      expect(pids()[name]).not.toBe(dead);
      await eventually(async () => expect((await orders(first)).status).toBe(200), { withinMs: 60_000 });
    },
  );

  it('stops processes of a killed supervisor, and keeps data and key', async () => {
    const orphans = pids();
    child.signal('SIGKILL');
    await child.ended;
    expect(Object.values(orphans).every(isAlive)).toBe(true);
    child = await start();
    await isReady(child);
    expect(Object.values(orphans).filter(isAlive)).toEqual([]);
    expect(state().api_key).toBe(first.api_key);
    expect((await orders(state())).status).toBe(200);
  });

  it('stops everything on SIGTERM and leaves no process running', async () => {
    const running = Object.values(pids());
    child.signal('SIGTERM');
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(running.filter(isAlive)).toEqual([]);
    expect(pids()).toEqual({});
    expect(state().supervisor).toBeNull();
  });

  it.each(['supervisor.pid', 'run/postgres.pid', 'run/issuance-worker.pid'])(
    'stops everything on a Ctrl-C during the start, as soon as there is %s',
    async (milestone) => {
      const interrupted = await start();
      await eventually(() => expect(existsSync(path.join(home, milestone))).toBe(true), {
        withinMs: startWithinMs,
        everyMs: 5,
      });
      const running = Object.values(pids());
      interrupted.signal('SIGINT');
      expect(await interrupted.ended).toEqual({ code: 0, signal: null });
      expect([...running, ...Object.values(pids())].filter(isAlive)).toEqual([]);
      expect(existsSync(path.join(home, 'supervisor.pid'))).toBe(false);
    },
  );
});
