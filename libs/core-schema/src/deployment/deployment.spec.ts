import { CoreDatabaseFixture } from '@certwright/core-testing';
import { claimDeployment, awaitDeployment } from './deployment';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());

describe('a database', () => {
  it('makes a process that may not claim an unclaimed database wait', async () => {
    await expect(awaitDeployment(core.database, 'sandbox', 0)).rejects.toThrow(
      'belongs to no deployment yet',
    );
    const waiting = awaitDeployment(core.database, 'sandbox');
    await claimDeployment(core.database, 'sandbox');
    await waiting;
  });

  it('belongs to the first mode that claims it, and to no other', async () => {
    await claimDeployment(core.database, 'sandbox');
    for (const require of [claimDeployment, awaitDeployment])
      await expect(require(core.database, 'production')).rejects.toThrow('belongs to a sandbox deployment');
  });
});
