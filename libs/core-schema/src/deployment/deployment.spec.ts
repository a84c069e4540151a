import { CoreDatabaseFixture } from '@certwright/core-testing';
import { claimDeployment } from './deployment';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());

describe('a database', () => {
  it('belongs to the first mode that claims it, and to no other', async () => {
    await claimDeployment(core.database, 'sandbox');
    await claimDeployment(core.database, 'sandbox');
    await expect(claimDeployment(core.database, 'production')).rejects.toThrow(
      'belongs to a sandbox deployment',
    );
  });
});
