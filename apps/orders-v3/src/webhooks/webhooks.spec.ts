import { createHash } from 'node:crypto';
import { SealingKeys } from '@certwright/sealing';
import type { ReceivedResponse } from '@certwright/testing';
import { RunningApi, specSealingKey, type Tenant } from '../testing/running-api';

const path = '/api/v3/account/webhooks';
const url = 'https://hooks.example.com/certificates';
const secretShape = /^whsec_[A-Za-z0-9+/]{43}=$/;
const sealing = new SealingKeys([Buffer.from(specSealingKey, 'base64')]);

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ ALLOWED_NETWORKS: '192.168.7.0/24' });
});
beforeEach(async () => {
  tenant = await api.tenant('Full Access');
});
afterAll(() => api.stop());

const create = async (body: object = { url }): Promise<ReceivedResponse> => await tenant.post(path, body);
const faultsOf = ({ json }: ReceivedResponse) =>
  json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);

interface EndpointRow {
  readonly url: string;
  readonly secret_sealed: Buffer;
  readonly previous_secret_sealed: Buffer | null;
  readonly credentials_sealed: Buffer | null;
}

async function stored(id: number): Promise<EndpointRow> {
  const [row] = await api.database.query<EndpointRow>(`SELECT * FROM webhook_endpoint WHERE id = $1`, [id]);
  if (row === undefined) throw new Error(`no endpoint ${id}`);
  return row;
}

describe('POST /api/v3/account/webhooks', () => {
  it('returns 201 with the location, the webhook and, this once, its secret', async () => {
    const created = await create({ url, description: 'Production' });

    expect(created.status).toBe(201);
    expect(created.headers).toMatchObject({ location: `${path}/${created.json.id}` });
    expect(created.json).toEqual({
      id: expect.any(Number),
      url,
      has_credentials: false,
      description: 'Production',
      enabled: true,
      events: ['order.current_cert_changed', 'certificate.issued'],
      disabled_reason: null,
      previous_secret_valid_until: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      secret: expect.stringMatching(secretShape),
    });
    const { secret: _secret, ...shown } = created.json;
    expect((await tenant.get(`${path}/${created.json.id}`)).json).toEqual(shown);
    expect((await tenant.get(path)).json).toEqual([shown]);
  });

  it('keeps secret and credentials sealed, and never shows the credentials', async () => {
    const created = await create({ url: 'https://me:pass%20word@hooks.example.com/x' });
    const { id, secret } = created.json;

    expect(created.json).toMatchObject({ url: 'https://hooks.example.com/x', has_credentials: true });
    expect(created.text).not.toMatch(/pass|me:/);
    const row = await stored(id);
    expect(row.url).toBe('https://hooks.example.com/x');
    expect(sealing.open(row.secret_sealed, `webhook-endpoint:${id}:secret`)).toBe(secret);
    const credentials = row.credentials_sealed ?? Buffer.alloc(0);
    expect(sealing.open(credentials, `webhook-endpoint:${id}:credentials`)).toBe('me:pass word');
  });

  it('reports all errors at once, and stores nothing', async () => {
    const response = await create({
      url: 7,
      description: 'a\nb',
      enabled: 'yes',
      events: ['certificate.issued', 'order.*'],
      secret: 'mine',
      colour: 'red',
    });
    expect(response.status).toBe(400);
    expect(response.json.code).toBe('bad_request');
    expect(faultsOf(response).sort()).toEqual([
      'colour invalid_value',
      'description invalid_value',
      'enabled invalid_value',
      'events invalid_value',
      'secret invalid_value',
      'url invalid_value',
    ]);
    expect(faultsOf(await create({}))).toEqual(['url missing_field']);
    expect((await tenant.post(path, [])).json.code).toBe('bad_request');
    expect((await tenant.get(path)).json).toEqual([]);
  });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://[::1]:8080/',
    'http://[::ffff:10.0.0.1]/',
    'http://169.254.169.254/latest',
    'http://192.168.8.1/',
    'http://localhost:3000/',
  ])('refuses %s, to which no delivery would be made', async (special) => {
    const response = await create({ url: special });
    expect(response.status).toBe(400);
    expect(faultsOf(response)).toEqual(['url invalid_value']);
    expect(response.json.sub_errors[0].message).toMatch(/not public|the machine itself/);
  });

  it.each(['http://hooks.example.com:25/', 'https://192.168.7.1:6679/', 'https://hooks.example.com:22/a'])(
    'refuses %s, as HTTP is not spoken on that port',
    async (refused) => {
      const { port } = new URL(refused);
      const { id } = (await create()).json as { id: string };
      for (const response of [
        await create({ url: refused }),
        await tenant.post(`${path}/${id}`, { url: refused }),
      ]) {
        expect(response.status).toBe(400);
        expect(faultsOf(response)).toEqual(['url invalid_value']);
        expect(response.json.sub_errors[0].message).toContain(
          `Port ${port} is reserved for a protocol other than HTTP. Use another port.`,
        );
      }
    },
  );

  it('takes an address of a network that the operator allows, and a name without looking it up', async () => {
    expect((await create({ url: 'http://192.168.7.1/' })).status).toBe(201);
    expect((await create({ url: 'https://no-such-host.invalid/' })).status).toBe(201);
  });

  it('returns 409 for the twenty-first, also when they come together', async () => {
    const responses = await Promise.all(Array.from({ length: 24 }, () => create()));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(responses.filter(({ json }) => json.code === 'conflict')).toHaveLength(4);
    expect((await tenant.get(path)).json).toHaveLength(20);
  });

  it('gives the same secret again for the same Idempotency-Key, and keeps it sealed until then', async () => {
    const headers = { 'idempotency-key': 'k1' };
    const first = await tenant.post(path, { url }, headers);
    const again = await tenant.post(path, { url }, headers);

    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
    expect((await tenant.post(path, { url, enabled: false }, headers)).status).toBe(422);
    expect((await tenant.get(path)).json).toHaveLength(1);
    const [record] = await api.database.query<{ body: string }>(
      `SELECT body FROM idempotency_record WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(record?.body).not.toContain(first.json.secret.slice(6));
    expect(record?.body).not.toContain('whsec_');
  });

  it('keeps no digest of credentials for the same Idempotency-Key: a weak password could be guessed from it', async () => {
    const headers = { 'idempotency-key': 'k1' };
    const body = { url: 'https://me:hunter2@hooks.example.com/x' };
    const { id } = (await tenant.post(path, body, headers)).json;
    await tenant.post(`${path}/${id}`, body, headers);
    expect((await tenant.post(`${path}/${id}`, body, headers)).headers).toHaveProperty(
      'idempotency-replayed',
    );
    expect((await tenant.post(`${path}/${id}`, { url }, headers)).status).toBe(422);
    const records = await api.database.query<{ body_sha256: Buffer }>(
      `SELECT body_sha256 FROM idempotency_record WHERE account_id = $1`,
      [tenant.accountId],
    );
    expect(records).toHaveLength(2);
    const digest = createHash('sha256').update(JSON.stringify(body)).digest();
    for (const record of records) expect(record.body_sha256.equals(digest)).toBe(false);
  });
});

describe('POST /api/v3/account/webhooks/{ID}', () => {
  it('changes what is sent, and keeps what is left out', async () => {
    const { id } = (await create({ url, description: 'old' })).json;
    const response = await tenant.post(`${path}/${id}`, { description: 'new', enabled: false });
    expect(response.status).toBe(200);
    expect(response.json).toMatchObject({ id, url, description: 'new', enabled: false });
    expect(response.json).not.toHaveProperty('secret');
    expect((await tenant.post(`${path}/${id}`, {})).json).toEqual(response.json);
  });

  it('selects events, keeps them when they are left out, and refuses an unknown one by its place', async () => {
    const { json } = await create({ url, events: ['monitoring.*', 'monitoring.new_endpoint'] });
    expect(json.events).toEqual(['monitoring.*', 'monitoring.new_endpoint']);
    const path = `/api/v3/account/webhooks/${json.id}`;
    expect((await tenant.post(path, { enabled: true })).json.events).toEqual(json.events);
    expect((await tenant.post(path, { events: ['certificate.issued'] })).json.events).toEqual([
      'certificate.issued',
    ]);
    for (const events of [['certificate.issued', 'test'], [], null, 'monitoring.*', [['test']]]) {
      const refused = await tenant.post(path, { events });
      expect(refused).toMatchObject({ status: 400, json: { code: 'bad_request' } });
      expect(faultsOf(refused)).toEqual(['events invalid_value']);
    }
    const refused = await tenant.post(path, { events: ['certificate.issued', 'order.*'] });
    expect(refused.json.sub_errors[0].message).toMatch(/^Entry 2 is not an event. Use one of: order\./);
    expect((await tenant.get(path)).json.events).toEqual(['certificate.issued']);
  });

  it('takes a webhook that was read back as it is, and keeps its credentials', async () => {
    const { id } = (await create({ url: 'https://me:pw@hooks.example.com/' })).json;
    const { json: read } = await tenant.get(`${path}/${id}`);
    const before = await stored(id);
    expect((await tenant.post(`${path}/${id}`, read)).json).toEqual(read);
    expect(await stored(id)).toEqual(before);
  });

  it('never hands the credentials of one URL to another', async () => {
    const { id } = (await create({ url: 'https://me:pw@hooks.example.com/' })).json;
    const moved = await tenant.post(`${path}/${id}`, { url: 'https://other.example.com/' });
    expect(moved.json).toMatchObject({ url: 'https://other.example.com/', has_credentials: false });
    expect((await stored(id)).credentials_sealed).toBeNull();
  });

  it('forgets why the platform switched it off when it is enabled again', async () => {
    const { id } = (await create()).json;
    await api.database.query(
      `UPDATE webhook_endpoint SET enabled = false, disabled_reason = 'It responded 410.' WHERE id = $1`,
      [id],
    );
    expect((await tenant.get(`${path}/${id}`)).json.disabled_reason).toBe('It responded 410.');
    const enabled = await tenant.post(`${path}/${id}`, { enabled: true });
    expect(enabled.json).toMatchObject({ enabled: true, disabled_reason: null });
  });

  it('refuses what a creation refuses', async () => {
    const { id } = (await create()).json;
    const response = await tenant.post(`${path}/${id}`, { url: 'http://10.0.0.1/', colour: 1 });
    expect(faultsOf(response).sort()).toEqual(['colour invalid_value', 'url invalid_value']);
  });
});

describe('POST /api/v3/account/webhooks/{ID}/rotate_secret', () => {
  it('shows a new secret once; the old one is valid for 24 h more', async () => {
    const { id, secret } = (await create()).json;
    const rotated = await tenant.post(`${path}/${id}/rotate_secret`, undefined);

    expect(rotated.status).toBe(200);
    expect(rotated.json.secret).toMatch(secretShape);
    expect(rotated.json.secret).not.toBe(secret);
    const validForMs = Date.parse(rotated.json.previous_secret_valid_until) - Date.now();
    expect(Math.abs(validForMs - 24 * 3_600_000)).toBeLessThan(60_000);
    const row = await stored(id);
    const context = `webhook-endpoint:${id}:secret`;
    expect(sealing.open(row.secret_sealed, context)).toBe(rotated.json.secret);
    expect(sealing.open(row.previous_secret_sealed ?? Buffer.alloc(0), context)).toBe(secret);
    expect((await tenant.get(`${path}/${id}`)).json).not.toHaveProperty('secret');
  });

  it('rotates once for one Idempotency-Key, and requires no body', async () => {
    const { id } = (await create()).json;
    const rotate = (body = {}) =>
      tenant.post(`${path}/${id}/rotate_secret`, body, { 'idempotency-key': 'r1' });
    expect((await rotate()).json.secret).toBe((await rotate()).json.secret);
    expect((await rotate({ secret: 'mine' })).status).toBe(422);
    const refused = await tenant.post(`${path}/${id}/rotate_secret`, { secret: 'mine' });
    expect(faultsOf(refused)).toEqual(['secret invalid_value']);
  });

  it('is refused while eight secrets of before still sign, and changes nothing', async () => {
    const { id } = (await create()).json;
    const rotate = () => tenant.post(`${path}/${id}/rotate_secret`, undefined);
    for (let count = 0; count < 8; count += 1) expect((await rotate()).status).toBe(200);
    const before = await stored(id);
    const refused = await rotate();
    expect(refused).toMatchObject({ status: 409, json: { code: 'conflict' } });
    expect(refused.json.message).toMatch(
      /^The webhook has 8 previous secrets that still sign\. Rotate again after 20\S+Z, when the oldest of them ends\.$/,
    );
    expect(await stored(id)).toEqual(before);
    await api.database.query(
      `UPDATE webhook_endpoint SET older_secrets_until[1] = now() - interval '1 second' WHERE id = $1`,
      [id],
    );
    expect((await rotate()).status).toBe(200);
  });

  it('distinguishes the same Idempotency-Key of two webhooks', async () => {
    const [one, two] = [(await create()).json.id, (await create()).json.id];
    const rotate = (id: number) =>
      tenant.post(`${path}/${id}/rotate_secret`, undefined, { 'idempotency-key': 'r1' });
    expect((await rotate(one)).json.id).toBe(one);
    expect((await rotate(two)).json.id).toBe(two);
  });
});

describe('DELETE /api/v3/account/webhooks/{ID}', () => {
  it('returns 204, and 404 from then on', async () => {
    const { id } = (await create()).json;
    expect(await tenant.delete(`${path}/${id}`)).toMatchObject({ status: 204, text: '' });
    expect((await tenant.delete(`${path}/${id}`)).status).toBe(404);
    expect((await tenant.get(`${path}/${id}`)).status).toBe(404);
    expect((await tenant.get(path)).json).toEqual([]);
  });
});

describe('another account', () => {
  const delivery = `msg_${'A'.repeat(27)}`;
  const probes: readonly [string, (of: Tenant, id: number) => Promise<ReceivedResponse>][] = [
    ['GET', (of, id) => of.get(`${path}/${id}`)],
    ['POST', (of, id) => of.post(`${path}/${id}`, { enabled: false })],
    ['DELETE', (of, id) => of.delete(`${path}/${id}`)],
    ['POST rotate_secret', (of, id) => of.post(`${path}/${id}/rotate_secret`, undefined)],
    ['POST test', (of, id) => of.post(`${path}/${id}/test`, undefined)],
    ['GET deliveries', (of, id) => of.get(`${path}/${id}/deliveries`)],
    ['GET delivery', (of, id) => of.get(`${path}/${id}/deliveries/${delivery}`)],
    ['POST replay', (of, id) => of.post(`${path}/${id}/deliveries/${delivery}/replay`, undefined)],
  ];

  it.each(probes)('returns the same for %s as for an unknown webhook', async (_what, probe) => {
    const { id } = (await create()).json;
    const other = await api.tenant('Full Access');
    const [foreign, missing] = [await probe(other, id), await probe(other, 12)];
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe(missing.text);
    expect((await tenant.get(`${path}/${id}`)).json.enabled).toBe(true);
    expect((await other.get(path)).json).toEqual([]);
  });
});

it.each(['0', '-1', '1.5', 'x', '9007199254740992', '%00', '__proto__'])(
  'returns 400 or 404 to the id %s',
  async (id) => {
    for (const response of [
      await tenant.get(`${path}/${id}`),
      await tenant.post(`${path}/${id}`, { enabled: true }),
      await tenant.get(`${path}/${id}/deliveries`),
    ]) {
      expect([400, 404]).toContain(response.status);
      expect(response.json).toHaveProperty('code');
    }
  },
);

it('needs Full Access: who adds a webhook sees every order from then on', async () => {
  const orders = await api.tenant('Order and Manage Certificates');
  expect(await orders.get(path)).toMatchObject({ status: 403, json: { code: 'unauthorized' } });
  expect((await orders.post(path, { url })).status).toBe(403);
  expect((await api.call('GET', path)).status).toBe(401);
});
