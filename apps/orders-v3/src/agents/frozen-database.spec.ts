import { withinDatabaseTime } from '@certwright/core-schema';
import { databaseOutage } from '@certwright/errors';
import type { DataSource } from 'typeorm';
import { AgentDirectory } from './agent-directory';
import { AgentStates } from './agent-states';

const never = async () => await new Promise<never>(() => undefined);

const unused = {} as never;

it.each<[string, () => Promise<unknown>]>([
  [
    'who it is',
    async () => await new AgentDirectory({ query: never } as unknown as DataSource).find('agent'),
  ],
  [
    'what has changed',
    async () => {
      const states = new AgentStates({ after: never } as never, unused, unused, unused, unused);
      return await states.of('agent', { accountId: '1', name: 'cluster' }, 0);
    },
  ],
])('a request of an agent waits no longer than it may for the read of %s', async (_, read) => {
  const outcome = await Promise.race([
    withinDatabaseTime(300, read).catch((error: unknown) => databaseOutage(error)?.code),
    new Promise((resolve) => setTimeout(resolve, 2_000, 'still waits')),
  ]);
  expect(outcome).toBe('service_outage');
});
