import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { advanceIssuance } from '@certwright/jobs';
import { RedisAccess, type RedisClient, redisSettingsOf } from '@certwright/redis-client';
import { eventually, freePort, rawRedis, type RedisServer, startRedisServer } from '@certwright/testing';
import { JobQueues } from './job-queues';
import { runJobs } from './job-runner';

/** Longer than a runner waits for a response: 6 s. */
const outageMs = 8_000;
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-spec-'));
let node: RedisServer;
let admin: RedisClient;

jest.setTimeout(60_000);
beforeAll(async () => {
  const [port, bus] = [await freePort(), await freePort()];
  const settings = ['--cluster-enabled', 'yes', '--dir', folder, '--cluster-port', String(bus)];
  node = await startRedisServer(port, [...settings, '--cluster-announce-ip', '127.0.0.1']);
  admin = rawRedis(`redis://127.0.0.1:${port}`);
  await admin.cluster('ADDSLOTSRANGE', 0, 16_383);
  await serves('ok');
});
afterAll(async () => {
  admin.disconnect();
  await node.kill();
  rmSync(folder, { recursive: true });
});

const serves = async (state: string) =>
  await eventually(async () => expect(await admin.cluster('INFO')).toContain(`cluster_state:${state}`));

it.each([
  [
    'is not ready: one slot is not served',
    {
      begin: async () => {
        await admin.cluster('DELSLOTS', 0);
        await serves('fail');
      },
      end: async () => {
        await admin.cluster('ADDSLOTS', 0);
        await serves('ok');
      },
    },
  ],
  ['does not respond', { begin: () => node.freeze(), end: () => node.resume() }],
])('jobs are taken again after a Cluster %s', async (_outage, { begin, end }) => {
  const access = new RedisAccess(redisSettingsOf(`redis-cluster://127.0.0.1:${node.port}`));
  const queues = new JobQueues(access, () => undefined);
  const seen: string[] = [];
  const handlers = {
    'advance-issuance': async ({ issuanceId }: { issuanceId: string }) =>
      await Promise.resolve(void seen.push(issuanceId)),
  };
  const runner = runJobs(access, 'issuance', handlers, { failed: () => undefined, error: () => undefined });
  const runs = async (id: string) => {
    await eventually(async () => await queues.addAll([advanceIssuance(id, 0)]));
    await eventually(() => expect(seen).toContain(id), { withinMs: 15_000 });
  };
  await runs('1');
  await begin();
  await delay(outageMs);
  await end();
  await runs('2');
  await runner.close();
  await queues.close();
});
