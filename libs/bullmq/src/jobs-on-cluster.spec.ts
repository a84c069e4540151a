import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { advanceIssuance } from '@certwright/jobs';
import { RedisAccess, redisSettingsOf } from '@certwright/redis-client';
import { eventually, freePort, rawRedis, type RedisServer, startRedisServer } from '@certwright/testing';
import { JobQueues } from './job-queues';
import { runJobs } from './job-runner';

/** BullMQ connects again when Redis has not responded for 6 s. */
const longOutageMs = 8_000;
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-spec-'));
let node: RedisServer;

jest.setTimeout(60_000);
beforeAll(async () => {
  const [port, bus] = [await freePort(), await freePort()];
  const settings = ['--cluster-enabled', 'yes', '--dir', folder, '--cluster-port', String(bus)];
  node = await startRedisServer(port, [...settings, '--cluster-announce-ip', '127.0.0.1']);
});
afterAll(async () => {
  await node.kill();
  rmSync(folder, { recursive: true });
});

it('jobs are taken again after a Cluster was not ready for long', async () => {
  const url = `127.0.0.1:${node.port}`;
  const admin = rawRedis(`redis://${url}`);
  const serves = async (state: string) =>
    await eventually(async () => expect(await admin.cluster('INFO')).toContain(`cluster_state:${state}`));
  await admin.cluster('ADDSLOTSRANGE', 0, 16_383);
  await serves('ok');

  const access = new RedisAccess(redisSettingsOf(`redis-cluster://${url}`));
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

  // One slot is not served, so none is.
  await admin.cluster('DELSLOTS', 0);
  await serves('fail');
  await delay(longOutageMs);
  await admin.cluster('ADDSLOTS', 0);
  await serves('ok');
  await runs('2');

  await runner.close();
  await queues.close();
  admin.disconnect();
});
