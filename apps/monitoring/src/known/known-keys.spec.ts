import type { ReceivedResponse } from '@certwright/testing';
import {
  csrPem,
  csrWithoutNamesPem,
  keySha256,
  localCsrPem,
  precertificatePem,
  rsa1024CsrPem,
} from '../testing/fixtures';
import { permission, RunningApi, type Tenant } from '../testing/running-api';

const keys = '/api/v3/monitoring/known_keys';

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
const postPem = async (body: string) =>
  await tenant.post(keys, body, { 'content-type': 'application/x-pem-file' });
const faultsOf = ({ status, json }: ReceivedResponse) => {
  expect([status, json.code]).toEqual([400, 'bad_request']);
  return json.sub_errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);
};
const digest = (at: number) => at.toString(16).padStart(64, '0');
const request = { pubkey_sha256: digest(1), dns_names: ['example.com'] };
const history = async () =>
  await api.database.query(
    `SELECT action, name, before, after FROM monitoring_change WHERE account_id = $1 AND object = 'known_key' ORDER BY id`,
    [tenant.accountId],
  );

describe('POST of a CSR', () => {
  it('creates an object with the key and the names of the CSR, and finds it when it is repeated', async () => {
    const created = await postPem(csrPem);
    const object = {
      id: expect.any(Number),
      pubkey_sha256: keySha256,
      dns_names: ['*.example.com', 'example.com'],
      note: '',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    };
    expect(result(created)).toEqual([201, object]);
    expect(result(await postPem(csrPem))).toEqual([200, created.json]);
    expect(result(await tenant.get(keys))).toEqual([200, [created.json]]);
    expect(await history()).toEqual([
      { action: 'created', name: String(created.json.id), before: null, after: created.json },
    ]);
  });

  it('takes PEM as PowerShell writes it, with a byte order mark', async () => {
    const { status, json } = await postPem(`\ufeff${csrPem.replaceAll('\n', '\r\n')}`);
    expect([status, json.pubkey_sha256]).toEqual([201, keySha256]);
  });

  it('takes DER as application/pkcs10', async () => {
    const der = Buffer.from(csrPem.replace(/-----.*-----|\n/g, ''), 'base64');
    const response = await fetch(api.url + keys, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/pkcs10' },
      body: der,
    });
    expect([response.status, await response.json()]).toEqual([
      201,
      expect.objectContaining({ pubkey_sha256: keySha256, dns_names: ['*.example.com', 'example.com'] }),
    ]);
  });

  it('refuses a CSR whose signature does not verify', async () => {
    const lines = csrPem.split('\n');
    const at = lines.findIndex((line) => line.startsWith('-----END')) - 2;
    lines[at] = [...(lines[at] ?? '')].reverse().join('');
    const answered = await postPem(lines.join('\n'));
    expect(faultsOf(answered)).toEqual(['csr bad_csr_signature']);
  });

  it.each([
    ['a name that is not public', localCsrPem, ['csr not_public_domain']],
    ['no subject alternative names', csrWithoutNamesPem, ['csr invalid_value']],
    ['an RSA key of 1024 bits', rsa1024CsrPem, ['csr unsupported_key_size']],
    ['a certificate', precertificatePem, ['csr malformed_csr']],
    ['two CSRs', csrPem + csrPem, ['csr malformed_csr']],
    ['text around the PEM', `Subject: x\n${csrPem}`, ['csr malformed_csr']],
    ['no PEM', 'hello', ['csr malformed_csr']],
    ['nothing', '', ['csr malformed_csr']],
    ['something else in PEM', csrPem.replace(/\n[^-]+\n-/, '\nMAMCAQA=\n-'), ['csr malformed_csr']],
  ])('refuses a body with %s', async (_what, body, faults) => {
    expect(faultsOf(await postPem(body))).toEqual(faults);
    expect((await tenant.get(keys)).json).toEqual([]);
  });

  it.each([
    'text/plain',
    'application/pkix-cert',
    'application/x-www-form-urlencoded',
    'application/json-seq',
  ])('refuses the media type %s', async (type) => {
    expect(await tenant.post(keys, csrPem, { 'content-type': type })).toMatchObject({
      status: 415,
      json: { code: 'unsupported_media_type' },
    });
  });

  it('refuses a body over 256 KiB', async () => {
    expect(await postPem('x'.repeat(300_000))).toMatchObject({
      status: 413,
      json: { code: 'request_too_large' },
    });
  });

  it('refuses a private key with the CSR, without repeating it', async () => {
    const { generateKeyPairSync } = await import('node:crypto');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    for (const [body, type] of [
      [csrPem + pem, 'application/x-pem-file'],
      [pem, 'application/x-pem-file'],
      [privateKey.export({ type: 'pkcs8', format: 'der' }), 'application/pkcs10'],
    ] as const) {
      const response = await fetch(api.url + keys, {
        method: 'POST',
        headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': type },
        body,
      });
      const text = await response.text();
      expect([response.status, text]).toEqual([400, expect.stringContaining('The body holds a private key')]);
      expect(text).not.toContain(pem.split('\n')[1]);
    }
  });
});

describe('POST of a digest', () => {
  it('creates an object with normal names, and finds it by key and names in any order and spelling', async () => {
    const created = await tenant.post(keys, {
      pubkey_sha256: digest(0xab).toUpperCase(),
      dns_names: ['WWW.Example.com.', '*.example.com', 'www.example.com'],
      note: 'CDN',
    });
    expect(result(created)).toEqual([
      201,
      {
        id: expect.any(Number),
        pubkey_sha256: digest(0xab),
        dns_names: ['*.example.com', 'www.example.com'],
        note: 'CDN',
        created_at: expect.any(String),
      },
    ]);
    const again = { pubkey_sha256: digest(0xab), dns_names: ['www.example.com', '*.example.com'] };
    expect(result(await tenant.post(keys, again))).toEqual([200, created.json]);
  });

  it('changes the note when it is repeated with another one', async () => {
    const { json: created } = await tenant.post(keys, { ...request, note: 'old' });
    const changed = await tenant.post(keys, { ...request, note: 'new' });
    expect(result(changed)).toEqual([200, { ...created, note: 'new' }]);
    expect((await tenant.get(keys)).json).toEqual([changed.json]);
    expect((await history()).map(({ action, before, after }) => [action, before, after])).toEqual([
      ['created', null, created],
      ['changed', created, changed.json],
    ]);
  });

  it('with other names is another object', async () => {
    await tenant.post(keys, request);
    const other = await tenant.post(keys, { ...request, dns_names: ['example.com', 'www.example.com'] });
    expect(other.status).toBe(201);
    expect((await tenant.get(keys)).json).toHaveLength(2);
  });

  it.each<[string, unknown, readonly string[]]>([
    ['nothing', {}, ['pubkey_sha256 missing_field', 'dns_names missing_field']],
    ['a short digest', { ...request, pubkey_sha256: 'ab' }, ['pubkey_sha256 invalid_value']],
    ['a digest of another type', { ...request, pubkey_sha256: 5 }, ['pubkey_sha256 invalid_value']],
    ['no names', { ...request, dns_names: [] }, ['dns_names invalid_value']],
    ['names of another type', { ...request, dns_names: 'example.com' }, ['dns_names invalid_value']],
    [
      'bad names',
      { ...request, dns_names: ['com', 'a b', 5] },
      ['dns_names not_public_domain', 'dns_names invalid_dns_name', 'dns_names invalid_dns_name'],
    ],
    ['101 names', { ...request, dns_names: Array(101).fill('a.com') }, ['dns_names too_many_names']],
    ['a note of two lines', { ...request, note: 'a\nb' }, ['note invalid_value']],
    ['a long note', { ...request, note: 'x'.repeat(256) }, ['note invalid_value']],
    ['an unknown member', { ...request, id: 1 }, ['id invalid_value']],
  ])('refuses a body with %s', async (_what, body, faults) => {
    expect(faultsOf(await tenant.post(keys, body))).toEqual(faults);
  });
});

it('creates one object for concurrent requests', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => tenant.post(keys, request)));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
  expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
});

it('lists pages by id', async () => {
  await api.database.query(
    `INSERT INTO known_key (id, account_id, spki_sha256, dns_names, dns_names_sha256, note)
     SELECT at, $1, sha256(at::text::bytea), '{example.com}', sha256('example.com'), '' FROM generate_series(1, 205) AS at`,
    [tenant.accountId],
  );
  const ids: number[] = [];
  let path: string | undefined = keys;
  const sizes: number[] = [];
  while (path !== undefined) {
    const { headers, json }: ReceivedResponse = await tenant.get(path);
    sizes.push(json.length);
    ids.push(...json.map(({ id }: { id: number }) => id));
    path = /^<(.+)>; rel="next"$/.exec(String(headers.link))?.[1];
  }
  expect(sizes).toEqual([100, 100, 5]);
  expect(ids).toEqual(Array.from({ length: 205 }, (_, at) => at + 1));
  expect((await tenant.get(`${keys}?limit=0`)).json.code).toBe('bad_query');
  expect((await tenant.get(`${keys}?after=x`)).json.code).toBe('bad_query');
  await api.database.query(`DELETE FROM known_key WHERE account_id = $1`, [tenant.accountId]);
});

it('has 10,000 objects at most; those that exist are found', async () => {
  const { json: first } = await tenant.post(keys, request);
  await api.database.query(
    `INSERT INTO known_key (id, account_id, spki_sha256, dns_names, dns_names_sha256, note)
     SELECT at, $1, sha256(at::text::bytea), '{example.com}', sha256('example.com'), '' FROM generate_series(1, 9999) AS at`,
    [tenant.accountId],
  );
  expect(result(await tenant.post(keys, { ...request, pubkey_sha256: digest(2) }))).toEqual([
    409,
    {
      code: 'conflict',
      message: 'An account has 10000 known keys at most: delete one that is no longer needed.',
    },
  ]);
  expect(result(await tenant.post(keys, request))).toEqual([200, first]);
});

describe('DELETE', () => {
  it('returns 204 without a body, then 404', async () => {
    const { json } = await tenant.post(keys, request);
    const deleted = await tenant.delete(`${keys}/${json.id}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(result(await tenant.delete(`${keys}/${json.id}`))).toEqual([
      404,
      { code: 'not_found', message: 'The account has no known key with this id.' },
    ]);
    expect((await history()).at(-1)).toEqual({
      action: 'deleted',
      name: String(json.id),
      before: json,
      after: null,
    });
  });

  it.each(['0', '-1', '01', '1.5', 'x', '9007199254740992', '%2e'])('knows no id %s', async (id) => {
    expect((await tenant.delete(`${keys}/${id}`)).status).toBe(404);
  });
});

it('has no GET of one object', async () => {
  const { json } = await tenant.post(keys, request);
  expect(await tenant.get(`${keys}/${json.id}`)).toMatchObject({
    status: 405,
    headers: { allow: 'DELETE, OPTIONS' },
  });
});

it.each([
  ['known_keys', 'known_key', request],
  ['known_certs', 'known_cert', { tbs_sha256: digest(1) }],
])('%s can be used by a running process while a migration adds a column', async (resource, table, body) => {
  const statuses = async () => {
    const list = `/api/v3/monitoring/${resource}`;
    const [created, found, listed] = [
      await tenant.post(list, body),
      await tenant.post(list, body),
      await tenant.get(list),
    ];
    const deleted = await tenant.delete(`${list}/${created.json.id}`);
    return [created, found, listed, deleted].map(({ status }) => status);
  };
  expect(await statuses()).toEqual([201, 200, 200, 204]);
  await api.database.query(`ALTER TABLE ${table} ADD COLUMN of_the_next_release text`);
  expect(await statuses()).toEqual([201, 200, 200, 204]);
});
