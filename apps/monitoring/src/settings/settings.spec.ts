import type { ReceivedResponse } from '@certwright/testing';
import { permission, RunningApi, type Tenant } from '../testing/running-api';

const settings = '/api/v3/monitoring/settings';
const defaults = {
  authorized_cas: [],
  alert_delay_minutes: 0,
  mail: { certificates: 'at_once', endpoints: 'at_once' },
  digest_hour_utc: 6,
  heartbeat: 'weekly',
};

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start();
});
beforeEach(async () => {
  tenant = await api.tenant(permission);
});
afterAll(() => api.stop());

const result = ({ status, json }: ReceivedResponse) => [status, json];
const history = async () =>
  await api.database.query(
    `SELECT action, before, after FROM monitoring_change WHERE account_id = $1 AND object = 'settings' ORDER BY id`,
    [tenant.accountId],
  );

it('have defaults, keep what is left out, and record what changes', async () => {
  expect(result(await tenant.get(settings))).toEqual([200, defaults]);
  expect(result(await tenant.post(settings, {}))).toEqual([200, defaults]);
  expect(await history()).toEqual([]);

  const first = {
    ...defaults,
    authorized_cas: ['letsencrypt.org', 'pki.goog'],
    mail: { certificates: 'digest', endpoints: 'at_once' },
  };
  const sent = {
    authorized_cas: ['PKI.goog', 'letsencrypt.org.', 'letsencrypt.org'],
    mail: { certificates: 'digest' },
  };
  expect(result(await tenant.post(settings, sent))).toEqual([200, first]);
  expect(result(await tenant.post(settings, sent))).toEqual([200, first]);
  const second = {
    ...first,
    alert_delay_minutes: 60,
    digest_hour_utc: 0,
    heartbeat: 'off',
    mail: { certificates: 'digest', endpoints: 'off' },
  };
  const changes = {
    alert_delay_minutes: 60,
    digest_hour_utc: 0,
    heartbeat: 'off',
    mail: { endpoints: 'off' },
  };
  expect(result(await tenant.post(settings, changes))).toEqual([200, second]);
  expect(result(await tenant.post(settings, defaults))).toEqual([200, defaults]);
  expect(result(await tenant.get(settings))).toEqual([200, defaults]);
  expect(await history()).toEqual([
    { action: 'changed', before: defaults, after: first },
    { action: 'changed', before: first, after: second },
    { action: 'changed', before: second, after: defaults },
  ]);
});

it('keep every change of concurrent requests', async () => {
  await Promise.all([
    tenant.post(settings, { alert_delay_minutes: 5 }),
    tenant.post(settings, { digest_hour_utc: 20 }),
    tenant.post(settings, { heartbeat: 'off' }),
    tenant.post(settings, { mail: { certificates: 'off' } }),
    tenant.post(settings, { mail: { endpoints: 'digest' } }),
  ]);
  expect((await tenant.get(settings)).json).toEqual({
    authorized_cas: [],
    alert_delay_minutes: 5,
    mail: { certificates: 'off', endpoints: 'digest' },
    digest_hour_utc: 20,
    heartbeat: 'off',
  });
});

it.each<[unknown, readonly string[]]>([
  [{ authorized_cas: 'letsencrypt.org' }, ['authorized_cas invalid_value']],
  [{ authorized_cas: ['*.letsencrypt.org'] }, ['authorized_cas invalid_value']],
  [{ authorized_cas: ["Let's Encrypt"] }, ['authorized_cas invalid_value']],
  [{ authorized_cas: ['letsencrypt.org; validationmethods=dns-01'] }, ['authorized_cas invalid_value']],
  [{ authorized_cas: ['org'] }, ['authorized_cas invalid_value']],
  [{ authorized_cas: [null] }, ['authorized_cas invalid_value']],
  [{ authorized_cas: Array(51).fill('letsencrypt.org') }, ['authorized_cas invalid_value']],
  [{ alert_delay_minutes: 61 }, ['alert_delay_minutes out_of_range']],
  [{ alert_delay_minutes: -1 }, ['alert_delay_minutes out_of_range']],
  [{ alert_delay_minutes: 1.5 }, ['alert_delay_minutes invalid_value']],
  [{ alert_delay_minutes: '5' }, ['alert_delay_minutes invalid_value']],
  [{ digest_hour_utc: 24 }, ['digest_hour_utc out_of_range']],
  [{ digest_hour_utc: null }, ['digest_hour_utc invalid_value']],
  [{ mail: 'off' }, ['mail invalid_value']],
  [{ mail: null }, ['mail invalid_value']],
  [{ mail: { certificates: 'never', x: 1 } }, ['mail.certificates invalid_value', 'mail.x invalid_value']],
  [{ heartbeat: 'daily' }, ['heartbeat invalid_value']],
  [
    { heart_beat: 'off', mail: { endpoints: 1 } },
    ['mail.endpoints invalid_value', 'heart_beat invalid_value'],
  ],
])('refuse %j', async (body, faults) => {
  const { status, json } = await tenant.post(settings, body);
  expect(status).toBe(400);
  expect(json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`)).toEqual(
    faults,
  );
  expect((await tenant.get(settings)).json).toEqual(defaults);
});
