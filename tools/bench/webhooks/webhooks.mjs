// How fast the notifier sends waiting deliveries: to one endpoint, to ten, and to ten together with a hundred that
// never respond. The receiver responds after 20 ms, on the same machine.
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { startPlatform } from '../issuance/platform.mjs';
import { table } from '../report.mjs';

const usage = 'npm run bench -- webhooks [deliveries, 2000] [endpoints that never respond, 100]';
const respondAfterMs = 20;
/** Time limit of a case; deliveries until then are counted. */
const boundMs = 60_000;

export async function webhooks(args) {
  if (args.includes('--help')) return void console.log(usage);
  const [deliveries, dead] = [Number(args[0] ?? 2_000), Number(args[1] ?? 100)];
  const platform = await startPlatform({ say: (line) => console.log(line), concurrency: '1' });
  const database = new pg.Pool({ connectionString: platform.databaseUrl, max: 2 });
  const receiver = await startReceiver();
  try {
    const notifier = await startNotifier(platform);
    const measured = [];
    for (const [what, healthy, never] of [
      ['one endpoint', 1, 0],
      ['ten endpoints', 10, 0],
      [`ten endpoints, and ${dead} that never respond`, 10, dead],
    ]) {
      console.log(what);
      await database.query('TRUNCATE webhook_endpoint CASCADE');
      for (let each = 0; each < never; each += 1) await fill(database, notifier, receiver.never(each), 20);
      for (let each = 0; each < healthy; each += 1)
        await fill(database, notifier, receiver.url(each), Math.ceil(deliveries / healthy));
      measured.push({ what, ...(await drained(database, notifier.pid, receiver.url(''))) });
    }
    return section(measured, deliveries);
  } finally {
    await database.end();
    receiver.close();
    await platform.stop();
  }
}

async function startNotifier(platform) {
  await bundle({ main: 'apps/notifier/src/main.ts' }, 'dist/apps/notifier');
  await bundle({ main: 'libs/sealing/src/index.ts' }, 'dist/tools/bench-sealing');
  const { SealingKeys } = createRequire(import.meta.url)(
    path.join(workspaceRoot, 'dist/tools/bench-sealing/main.js'),
  );
  const key = randomBytes(32);
  const operations = `http://${LOOPBACK}:${await freePort()}`;
  const env = {
    ...platform.environment,
    OPS_PORT: new URL(operations).port,
    SEALING_KEYS: key.toString('base64'),
    ALLOWED_NETWORKS: '127.0.0.0/8',
    SMTP_URL: `smtp://${LOOPBACK}:1`,
    SMTP_REQUIRE_TLS: 'false',
    SMTP_FROM: 'bench@example.com',
    APPROVAL_URL: `http://${LOOPBACK}:1`,
  };
  await platform.start('notifier', 'dist/apps/notifier', env, `${operations}/readyz`);
  return { pid: platform.pids.notifier, sealing: new SealingKeys([key]), accountId: platform.accountId };
}

let lastId = 1_000;

/** Creates an endpoint with its own account; its deliveries become due after all of them are stored. */
async function fill(database, { sealing }, url, count) {
  const id = String((lastId += 1));
  const secret = sealing.seal(
    `whsec_${randomBytes(32).toString('base64')}`,
    `webhook-endpoint:${id}:secret`,
    randomBytes(12),
  );
  await database.query(`INSERT INTO account (id, name) VALUES ($1, 'bench')`, [id]);
  await database.query(
    `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled)
     VALUES ($1, $1, $2, $3, '', true)`,
    [id, url, secret],
  );
  await database.query(
    `INSERT INTO webhook_delivery (id, account_id, endpoint_id, plan_id, version, replay_of, event, body, state, due_at)
     SELECT 'msg_' || $1 || '_' || n, $1::bigint, $1::bigint, NULL, 0, '', 'bench', '{"name":"bench"}', 'pending',
       now() + interval '1 hour'
     FROM generate_series(1, $2::int) AS n`,
    [id, count],
  );
}

async function drained(database, pid, urlBegin) {
  await database.query('ANALYZE webhook_delivery, webhook_endpoint');
  await database.query('UPDATE webhook_delivery SET due_at = now()');
  const [begun, cpu] = [performance.now(), cpuSeconds(pid)];
  const count = async () => {
    const { rows } = await database.query(
      `SELECT count(*) FILTER (WHERE state = 'pending')::int AS waiting, count(*) FILTER (WHERE state = 'delivered')::int AS delivered
       FROM webhook_delivery JOIN webhook_endpoint AS endpoint ON endpoint.id = endpoint_id WHERE starts_with(url, $1)`,
      [urlBegin],
    );
    return rows[0];
  };
  let state = await count();
  while (state.waiting > 0 && performance.now() - begun < boundMs) {
    await delay(100);
    state = await count();
  }
  const seconds = (performance.now() - begun) / 1_000;
  return {
    perSecond: state.delivered / seconds,
    cpuMs: ((cpuSeconds(pid) - cpu) * 1_000) / Math.max(1, state.delivered),
    left: state.waiting,
  };
}

async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url.startsWith('/never')) return;
    request.once('end', () => setTimeout(() => response.writeHead(204).end(), respondAfterMs));
  });
  await new Promise((resolve) => server.listen(0, LOOPBACK, resolve));
  const base = `http://${LOOPBACK}:${server.address().port}`;
  return {
    url: (each) => `${base}/healthy/${each}`,
    never: (each) => `${base}/never/${each}`,
    close: () => server.closeAllConnections() ?? server.close(),
  };
}

function section(measured, deliveries) {
  const text = `## Webhooks

\`npm run bench -- webhooks\`: ${deliveries.toLocaleString('en')} deliveries that become due at once, to endpoints that respond after ${respondAfterMs} ms;
one notifier, with PostgreSQL, Redis and the receiver on the same machine.

${table([
  ['endpoints', 'deliveries per second', 'CPU of the notifier per delivery', 'left after 60 s'],
  ...measured.map(({ what, perSecond, cpuMs, left }) => [
    what,
    Math.round(perSecond).toLocaleString('en'),
    `${cpuMs.toFixed(1)} ms`,
    left.toLocaleString('en'),
  ]),
])}
`;
  return { name: 'webhooks', text };
}
