import { type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';

// A machine that is busy with other specs must not fail these.
jest.setTimeout(30_000);

const path = '/api/v2/account';

let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start({ LATEST_CLIENT_VERSION: '9.9.9' });
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const refusalOf = ({ status, json }: ReceivedResponse) => [status, json.reason, json.param];
const nothing = { country: null, state: null, locality: null, organization: null };

describe('an account', () => {
  it('shows itself, without money as with it', async () => {
    const { status, headers, json } = await tenant.get(path);
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      id: Number(tenant.accountId),
      name: 'A tenant',
      contact_email: null,
      ...nothing,
      mail_when_issued: true,
      mail_when_revoked: true,
      balance_cents: 0,
      credit_limit_cents: 0,
      currency: 'USD',
    });
    await api.database.query(`UPDATE account SET contact_email = 'ops@example.com' WHERE id = $1`, [
      tenant.accountId,
    ]);
    await api.database.query(
      `INSERT INTO account_balance (account_id, currency, balance_cents, credit_limit_cents) VALUES ($1, 'EUR', -150, 10000)`,
      [tenant.accountId],
    );
    expect((await tenant.get(path)).json).toMatchObject({
      contact_email: 'ops@example.com',
      balance_cents: -150,
      credit_limit_cents: 10_000,
      currency: 'EUR',
    });
  });

  it('shows the currency of the products while it has no balance', async () => {
    await api.database.query(`UPDATE product SET currency = 'EUR' WHERE name = 'paid_ca'`);
    expect((await tenant.get(path)).json.currency).toBe('EUR');
    await api.database.query(`UPDATE product SET currency = 'USD' WHERE name = 'paid_ca'`);
  });

  it.each([
    ['a form', (fields: Record<string, string>) => tenant.postForm(path, fields)],
    ['JSON', (fields: Record<string, string>) => tenant.post(path, fields)],
  ])('changes its part of distinguished names by %s, and only what is given', async (_what, post) => {
    const first = await post({
      country: 'gb',
      state: ' England ',
      locality: 'London',
      organization: 'Ä & Söhne',
    });
    expect([first.status, first.json]).toMatchObject([
      200,
      { country: 'GB', state: 'England', locality: 'London', organization: 'Ä & Söhne' },
    ]);
    const second = await post({ locality: '', organization: 'Other' });
    expect(second.json).toMatchObject({
      country: 'GB',
      state: 'England',
      locality: null,
      organization: 'Other',
    });
    expect((await tenant.get(path)).json).toEqual(second.json);
  });

  it('turns its mails off and on, each by itself', async () => {
    const settings = async () => {
      const { mail_when_issued, mail_when_revoked } = (await tenant.get(path)).json;
      return [mail_when_issued, mail_when_revoked];
    };
    expect((await tenant.postForm(path, { mail_when_issued: '0' })).json.mail_when_issued).toBe(false);
    expect(await settings()).toEqual([false, true]);
    await tenant.post(path, { mail_when_issued: true, mail_when_revoked: false, locality: 'London' });
    expect(await settings()).toEqual([true, false]);
    await tenant.post(path, { mail_when_revoked: null });
    expect(await settings()).toEqual([true, false]);
    expect(refusalOf(await tenant.post(path, { mail_when_issued: 'often' }))).toEqual([
      400,
      'bad_param',
      'mail_when_issued',
    ]);
  });

  it('is in the dn of its objects', async () => {
    await tenant.postForm(path, {
      country: 'GB',
      state: 'England',
      locality: 'London',
      organization: 'Example',
    });
    const { dn } = (await tenant.get('/api/v2/certs/example.com')).json;
    expect(dn).toMatchObject({ C: 'GB', ST: 'England', L: 'London', O: 'Example', CN: 'example.com' });
  });

  it('may be sent back as it was read', async () => {
    const read = (await tenant.get(path)).json;
    expect((await tenant.post(path, read)).json).toEqual(read);
    await tenant.postForm(path, { country: 'GB' });
    const later = (await tenant.get(path)).json;
    expect((await tenant.post(path, later)).json).toEqual(later);
  });

  it('changes nothing for omitted members', async () => {
    await tenant.postForm(path, { country: 'GB' });
    for (const response of [
      await tenant.post(path),
      await tenant.postForm(path, ''),
      await tenant.post(path, {}),
    ])
      expect([response.status, response.json.country]).toEqual([200, 'GB']);
  });

  it.each([
    ['bad_country', 'country', { country: 'UK' }],
    ['bad_country', 'country', { country: 'GBR' }],
    ['bad_country', 'country', { country: 'g\u0131' }],
    ['bad_country', 'country', { country: '__proto__' }],
    ['bad_param', 'country', { country: ['GB'] }],
    ['bad_param', 'state', { state: 'x'.repeat(129) }],
    ['bad_param', 'locality', { locality: 'a\nb' }],
    ['bad_param', 'organization', { organization: 'x'.repeat(65) }],
    ['bad_param', 'organization', { organization: { a: 1 } }],
    ['bad_param', 'organization', { organization: 'a\u2028b' }],
    ['bad_param', 'state', { state: 'a\0b' }],
    ['bad_param', 'state', { state: 'a\ud800b' }],
    ['bad_request', undefined, ['GB']],
  ])('is not changed by what is refused with %s on %s', async (reason, param, body) => {
    const good = Array.isArray(body) ? body : { locality: 'Changed', ...body };
    expect(refusalOf(await tenant.post(path, good))).toEqual([400, reason, param]);
    expect((await tenant.get(path)).json).toMatchObject(nothing);
  });

  it('takes as many characters as fit, not as many bytes', async () => {
    const organization = '𝔛'.repeat(64);
    expect((await tenant.postForm(path, { organization })).json.organization).toBe(organization);
  });

  it('refuses a field that comes twice', async () => {
    expect(refusalOf(await tenant.postForm(path, 'state=a&state=b'))).toEqual([400, 'bad_param', 'state']);
  });

  it('is separate for each account, and unavailable to search accounts', async () => {
    const other = await api.tenant();
    await other.postForm(path, { country: 'FR' });
    expect((await tenant.get(path)).json.country).toBeNull();
    const searcher = await api.tenant('Search Certificates');
    for (const response of [await searcher.get(path), await searcher.postForm(path, { country: 'FR' })])
      expect([response.status, response.json.reason]).toEqual([403, 'unauthorized']);
  });
});

describe('the newest version of the client', () => {
  const versionFor = async (of: RunningApi, agent?: string) => {
    const headers: Record<string, string> = agent === undefined ? {} : { 'user-agent': agent };
    const { status, json } = await of.call('GET', '/api/v2/latest_client_version', { headers });
    return [status, json.latest_client_version ?? json.reason];
  };

  it('needs no credentials', async () => {
    const { status, headers, json } = await api.call('GET', '/api/v2/latest_client_version');
    expect([status, headers['content-type'], json]).toEqual([
      200,
      'application/json',
      { latest_client_version: '9.9.9' },
    ]);
  });

  it.each([
    ['SSLMate/1.10.0 curl', '9.9.9'],
    ['SSLMate/9.9.10 ', '9.9.10'],
    ['SSLMate/10.0.0 WWW-Curl/4.17', '10.0.0'],
    ['SSLMate/9.9', '9.9.9'],
    ['curl/99.0.0', '9.9.9'],
    ['SSLMate/999999999999999999999.0', '9.9.9'],
  ])('is never older than the client: %s', async (agent, version) => {
    expect(await versionFor(api, agent)).toEqual([200, version]);
  });

  it('is the version of the client when the operator names none, and unknown for other programs', async () => {
    const plain = await RunningApi.start();
    try {
      expect(await versionFor(plain, 'SSLMate/1.10.0 curl')).toEqual([200, '1.10.0']);
      expect(await versionFor(plain, 'SSLMate/1.4.0 ')).toEqual([200, '1.4.0']);
      expect(await versionFor(plain)).toEqual([404, 'not_found']);
      expect(await versionFor(plain, 'curl/8.5.0')).toEqual([404, 'not_found']);
    } finally {
      await plain.stop();
    }
  });
});
