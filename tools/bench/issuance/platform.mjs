// A temporary platform for a benchmark: durable PostgreSQL, Redis, the demo DNS and the two processes.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { httpProbe, launch, run, stopChild, untilReady } from '../../embedded/child.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { startPostgres } from '../../embedded/postgres.mjs';
import { redisBinary } from '../../embedded/redis-binaries.mjs';
import { startRedis } from '../../embedded/redis.mjs';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';

const readyWithinMs = 30_000;
/** Higher than any benchmark needs, so that limits do not affect the result. */
const unlimited = '100000';

const programs = {
  'dist/tools/migrate': 'tools/migrate/main.ts',
  'dist/tools/admin': 'tools/admin/main.ts',
  'dist/tools/demo-dns': 'tools/demo-dns/main.ts',
  'dist/apps/orders-v3': 'apps/orders-v3/src/main.ts',
  'dist/apps/issuance-worker': 'apps/issuance-worker/src/main.ts',
};

/** @param {{ say: (line: string) => void, concurrency: string, worker?: NodeJS.ProcessEnv }} options worker: more settings of it */
export async function startPlatform({ say, concurrency, worker = {} }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-bench-'));
  const undo = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    for (const [outdir, main] of Object.entries(programs)) await bundle({ main }, outdir);
    say('starting PostgreSQL, Redis, the demo DNS and the two processes');
    const postgres = await startPostgres({ workspaceRoot, folder: path.join(folder, 'postgres') });
    undo.push(() => postgres.stop());
    const cache = path.join(workspaceRoot, '.certwright/redis-binaries');
    const redis = await startRedis({
      binary: await redisBinary({ cache }),
      folder: path.join(folder, 'redis'),
    });
    undo.push(() => redis.stop());
    const ports = await freePorts(['dns', 'control', 'api', 'apiOps', 'workerOps']);
    const environment = environmentOf(postgres.url(), redis, folder, ports, concurrency);
    const toolWith = async (env, program, ...args) =>
      await run(process.execPath, [`${program}/main.js`, ...args], { cwd: workspaceRoot, env });
    const tool = async (program, ...args) => await toolWith(environment.common, program, ...args);
    await tool('dist/tools/migrate');
    await toolWith({ ...environment.worker, ...worker }, 'dist/tools/admin', 'ca', 'create-sandbox');
    const seeded = JSON.parse((await tool('dist/tools/admin', 'seed-sandbox', '--json')).stdout);

    const children = {};
    const start = async (name, program, env, ready) => {
      const logFile = path.join(folder, `${name}.log`);
      const child = await launch({
        command: process.execPath,
        args: [`${program}/main.js`],
        cwd: workspaceRoot,
        env,
        logFile,
      });
      undo.push(() => stopChild(child, { graceMs: 10_000 }));
      await untilReady(httpProbe(ready), { child, what: name, withinMs: readyWithinMs });
      children[name] = child.pid;
    };
    await start(
      'demo-dns',
      'dist/tools/demo-dns',
      environment.dns,
      `http://${LOOPBACK}:${ports.control}/healthz`,
    );
    await start(
      'orders-v3',
      'dist/apps/orders-v3',
      environment.api,
      `http://${LOOPBACK}:${ports.apiOps}/readyz`,
    );
    await start(
      'issuance-worker',
      'dist/apps/issuance-worker',
      { ...environment.worker, ...worker },
      `http://${LOOPBACK}:${ports.workerOps}/readyz`,
    );
    return {
      api: `http://${LOOPBACK}:${ports.api}`,
      control: `http://${LOOPBACK}:${ports.control}`,
      apiKey: seeded.api_key,
      accountId: seeded.account_id,
      databaseUrl: postgres.url(),
      approvalZone,
      get pids() {
        return { PostgreSQL: postgres.child.pid, Redis: redis.child.pid, ...children };
      },
      dnsPort: ports.dns,
      environment: environment.common,
      /** Runs a built tool with its arguments. */
      tool,
      /** The same with another environment. */
      toolWith,
      /** Starts one more process: name, folder, environment, readiness URL. */
      start,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const approvalZone = 'approval.example.net';

function environmentOf(databaseUrl, redis, folder, ports, concurrency) {
  const common = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    REDIS_URL: `redis://${LOOPBACK}:${redis.port}`,
    CERTWRIGHT_MODE: 'sandbox',
    LOG_LEVEL: 'info',
    APPROVAL_ZONE: approvalZone,
  };
  const publicUrl = `http://${LOOPBACK}:${ports.api}`;
  return {
    common,
    dns: {
      ...common,
      DNS_PORT: String(ports.dns),
      CONTROL_PORT: String(ports.control),
      DEMO_ZONES: 'example.com,example.net,example.org',
      LOG_LEVEL: 'error',
    },
    api: {
      ...common,
      PORT: String(ports.api),
      OPS_PORT: String(ports.apiOps),
      PUBLIC_URL: publicUrl,
      SEALING_KEYS: randomBytes(32).toString('base64'),
      READS_PER_S: unlimited,
      WRITES_PER_S: unlimited,
    },
    worker: {
      ...common,
      OPS_PORT: String(ports.workerOps),
      DNS_RESOLVER: `${LOOPBACK}:${ports.dns}`,
      BUILT_IN_CA_DIR: path.join(folder, 'ca'),
      CA_PUBLICATION_URL: `${publicUrl}/ca`,
      JOB_CONCURRENCY: concurrency,
    },
  };
}

async function freePorts(names) {
  const ports = {};
  for (const name of names) ports[name] = await freePort();
  return ports;
}
