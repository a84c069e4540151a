import { createLogger, Metrics, Readiness, type RunningProcess } from '@certwright/service';
import { ordersSettings } from '../config';
import { FakeGateway } from '../testing/gateway';
import { RunningApi, type Tenant } from '../testing/running-api';
import { openGateway } from './dns-gateway';

const path = '/api/v3/account/dns_integrations';

describe('a deployment without a DNS gateway', () => {
  let api: RunningApi;
  let tenant: Tenant;
  beforeAll(async () => {
    api = await RunningApi.start({
      GATEWAY_URL: '',
      GATEWAY_CA: '',
      GATEWAY_CERTIFICATE: '',
      GATEWAY_KEY: '',
    });
    tenant = await api.tenant('Full Access');
  });
  afterAll(() => api.stop());

  it('offers no provider, so that none can be integrated', async () => {
    const providers = await tenant.get('/api/v3/account/dns_providers');
    expect(providers).toMatchObject({ status: 200, json: { encryption_key: null, providers: [] } });
    const body = { provider: 'desec', credentials: { type: 'bearer', token: 't' } };
    const response = await tenant.post(path, body);
    expect(response).toMatchObject({ status: 400, json: { code: 'bad_request' } });
    expect(response.json.sub_errors).toEqual([
      {
        field: 'provider',
        code: 'invalid_value',
        message: 'No DNS provider can be integrated here: this deployment has no DNS gateway.',
      },
    ]);
  });

  it('still shows, lists and deletes what was integrated before', async () => {
    await api.database.query(
      `INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
       VALUES (7, $1, 'desec', '', 'h', 'ok', now())`,
      [tenant.accountId],
    );
    expect((await tenant.get(path)).json).toMatchObject([{ id: 7, checked_at: null }]);
    expect(await tenant.get(`${path}/7/zones`)).toMatchObject({ status: 200, json: [] });
    expect((await tenant.delete(`${path}/7`)).status).toBe(204);
  });
});

it('does not start with a gateway that is set up by half', async () => {
  const gateway = await FakeGateway.open();
  const { GATEWAY_KEY: _, ...half } = gateway.settings;
  const others = {
    DATABASE_URL: 'postgres://127.0.0.1/none',
    REDIS_URL: 'redis://127.0.0.1',
    SEALING_KEYS: Buffer.alloc(32).toString('base64'),
  };
  const closes: (() => unknown)[] = [];
  const running: RunningProcess = {
    name: 'spec',
    log: createLogger('spec', 'silent'),
    metrics: new Metrics('spec'),
    readiness: new Readiness(),
    opened: (_name, close) => void closes.unshift(close),
  };
  const clientOf = (settings: Readonly<Record<string, string>>) =>
    openGateway(ordersSettings.read({ ...others, ...settings }), running).client;
  expect(() => clientOf(half)).toThrow(/GATEWAY_KEY_FILE/);
  expect(clientOf(gateway.settings)).not.toBeNull();
  expect(clientOf({})).toBeNull();
  for (const close of closes) await close();
  await gateway.close();
});
