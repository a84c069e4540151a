import { JobQueues, runJobs } from '@certwright/bullmq';
import type { DnsIntegrations, LeasedIntegrations } from '@certwright/dns-integrations';
import type { ApprovalRecords } from '@certwright/approvals';
import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { IntegrationsProcessor } from './integrations.processor';
import type { KeepIntegration } from './keep-integration';

let redis: TestRedis;
let queues: JobQueues;

beforeAll(async () => {
  redis = await testRedis();
  queues = new JobQueues(redis.access, () => undefined);
});
afterAll(async () => {
  await queues.close();
  await redis.dispose();
});

const integration = (accountId: string, id: string) => ({ id, accountId, leaseToken: '0', overdueS: 0 });

it('runs the first due integration of every account before the second one of any', async () => {
  const due = ['11', '12', '13'].map((id) => integration('1', id));
  const kept: string[] = [];
  const processor = new IntegrationsProcessor(
    { run: async (id: string) => await Promise.resolve(void kept.push(id)) } as KeepIntegration,
    { due: async () => await Promise.resolve(due) } as unknown as LeasedIntegrations,
    queues,
    {} as DnsIntegrations,
    {} as ApprovalRecords,
  );
  await processor.sweep();
  due.splice(1, 0, integration('2', '21'));
  await processor.sweep();
  const handlers = {
    'keep-integration': async (job: { integrationId: string }) => await processor['keep-integration'](job),
  };
  const events = { failed: () => undefined, error: () => undefined };
  const runner = runJobs(redis.access, 'dns-integrations', handlers, events, 1);
  await eventually(() => expect(kept).toHaveLength(4));
  await runner.close();
  expect(kept).toEqual(['11', '21', '12', '13']);
});
