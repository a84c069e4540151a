import { RunningApi } from './testing/running-api';

const warning = 'database role has privileges that this process does not need';

const warnings = ({ logged }: RunningApi) =>
  logged
    .map((line) => JSON.parse(line) as { readonly msg: string; readonly role?: string })
    .filter(({ msg }) => msg === warning);

it('starts without a warning as its own role', async () => {
  const api = await RunningApi.start({ LOG_LEVEL: 'warn' });
  expect(warnings(api)).toEqual([]);
  await api.stop();
});

it('works as the owner of the tables, and logs at the start that it has more privileges than it needs', async () => {
  const api = await RunningApi.start((_, ownerUrl) => ({ DATABASE_URL: ownerUrl, LOG_LEVEL: 'warn' }));
  const role = decodeURIComponent(new URL(api.database.url).username);
  expect(warnings(api)).toMatchObject([{ role, database: 'core' }]);
  const tenant = await api.tenant();
  expect(await tenant.get('/api/v3/orders')).toMatchObject({ status: 200 });
  await api.stop();
});
