import { databaseOutage } from '@certwright/errors';
import { withinDatabaseTime } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { AgentDirectory } from './agent-directory';

it('waits no longer for the database than a request may', async () => {
  const frozen = { query: async () => await new Promise(() => undefined) } as unknown as DataSource;
  const directory = new AgentDirectory(frozen);
  const found = withinDatabaseTime(300, async () => await directory.find('agent'));
  const outcome = await Promise.race([
    found.catch((error: unknown) => databaseOutage(error)?.code),
    new Promise((resolve) => setTimeout(resolve, 2_000, 'still waits')),
  ]);
  expect(outcome).toBe('service_outage');
});
