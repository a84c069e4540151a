import { setTimeout as delay } from 'node:timers/promises';
import { Metrics, type RunningProcess } from '@certwright/service';
import type { DataSource } from 'typeorm';
import type { Agent } from './agent-directory';
import { AgentSweep, type AgentWork } from './agent-sweep';
import type { ClusterKey } from './cluster-changes.repository';
import { WaitingAgents } from './waiting-agents';

it('looks for keys to seal in turns of the accounts and for a limited time, so that many clusters of one delay no other', async () => {
  const waiting = new WaitingAgents({ maxWaiting: 1_000 });
  const wait = (accountId: string, name: string) =>
    waiting.wait(
      { id: `${accountId} ${name}`, accountId, cluster: name } as Agent,
      1,
      60_000,
      () => undefined,
    );
  const waits = Array.from({ length: 100 }, (_, at) => wait('1', `web ${at}`));
  waits.push(wait('2', 'web'));
  const looked: ClusterKey[] = [];
  const work = {
    tasks: {
      assignKeys: async () => await Promise.resolve(0),
      assignSeals: async (cluster: ClusterKey) => {
        looked.push(cluster);
        await delay(40);
        return 0;
      },
      forget: async () => await Promise.resolve(),
    },
    rollouts: { passOn: async () => await Promise.resolve(0) },
    changes: {
      versionsOf: async (clusters: readonly ClusterKey[]) =>
        await Promise.resolve(clusters.map((cluster) => ({ ...cluster, version: 1, sealsMissing: true }))),
    },
    lastSeen: { flush: async () => await Promise.resolve(0) },
  } as unknown as AgentWork;
  const running = { metrics: new Metrics('spec') } as RunningProcess;
  const sweep = new AgentSweep(waiting, work, {} as DataSource, running);
  await sweep.sweep();
  expect(looked.length).toBeLessThan(20);
  const first = looked.length;
  await sweep.sweep();
  const names = looked.map(({ accountId, name }) => `${accountId} ${name}`);
  expect(looked.length).toBeGreaterThan(first);
  expect(names.slice(0, 3)).toContain('2 web');
  // Others, not those that had their turn.
  expect(new Set(names).size).toBe(names.length);
  waiting.close();
  await Promise.all(waits);
});
