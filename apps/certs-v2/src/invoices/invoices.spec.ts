import { createHash } from 'node:crypto';
import { forgeInvoice } from '../testing/forged-invoices';
import { RunningApi, type Tenant } from '../testing/running-api';

let api: RunningApi;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ PUBLIC_URL: 'https://certs.example.com/base' });
});
beforeEach(async () => {
  [tenant, other] = [await api.tenant(), await api.tenant()];
});
afterAll(() => api.stop());

const path = '/api/v2/invoices';
const issuedAt = new Date('2026-11-20T12:00:00.900Z');
const lines = [
  { description: 'example.com and 1 more, one year', quantity: 2, unitCents: 1_200, cents: 2_400 },
  { description: '<b>*.example.com</b>', quantity: 1, unitCents: 9_900, cents: 9_900 },
];

describe('GET /api/v2/invoices/{number}', () => {
  it('shows the invoice, times in unix seconds and amounts in hundredths of the currency', async () => {
    const number = await forgeInvoice(api, tenant, 1, {
      lines,
      note: 'Order 7',
      emailTo: 'books@example.com',
      issuedAt,
    });
    const response = await tenant.get(`${path}/${number}`);
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/json');
    expect(response.json).toEqual({
      number,
      issued_at: 1_795_176_000,
      account: 'A tenant',
      currency: 'USD',
      lines: [
        { description: 'example.com and 1 more, one year', quantity: 2, unit_price: 1_200, amount: 2_400 },
        { description: '<b>*.example.com</b>', quantity: 1, unit_price: 9_900, amount: 9_900 },
      ],
      total: 12_300,
      note: 'Order 7',
      email_to: 'books@example.com',
      refunded_at: null,
    });
  });

  it('shows when the charge was refunded', async () => {
    const number = await forgeInvoice(api, tenant, 1, { refundedAt: issuedAt });
    expect((await tenant.get(`${path}/${number}`)).json).toMatchObject({ refunded_at: 1_795_176_000 });
  });

  it('returns the same for the invoice of another account as for an unknown one', async () => {
    const theirs = await forgeInvoice(api, other, 1);
    const nobodys = `${tenant.accountId}-1`;
    for (const suffix of ['', '.html']) {
      const responses = [
        await tenant.get(`${path}/${theirs}${suffix}`),
        await tenant.get(`${path}/${nobodys}${suffix}`),
      ];
      for (const { status, headers, json } of responses) {
        expect(status).toBe(404);
        expect(headers['content-type']).toBe('application/json');
        expect(json).toEqual({ reason: 'no_such_invoice', message: expect.any(String) });
      }
      expect(responses[0]?.text).toBe(responses[1]?.text);
    }
  });

  it.each([
    '__proto__',
    'constructor',
    '1',
    '1-',
    '-1',
    '1-1-1',
    '1e1-1',
    '%00',
    '%ED%A0%80',
    '9'.repeat(5_000),
    `${'9'.repeat(19)}-${'9'.repeat(10)}`,
    '.html',
    '.html.html',
    '1-1.htm',
    '%2e%2e',
    '%271-1%27',
  ])('is refused as no invoice when it is %.40s', async (number) => {
    const { status, json } = await tenant.get(`${path}/${number}`);
    expect([400, 404, 414]).toContain(status);
    if (status === 404) expect(['no_such_invoice', 'not_found']).toContain(json.reason);
  });

  it('needs a key that may order and manage certificates', async () => {
    const searching = await api.tenant('Search Certificates');
    const number = await forgeInvoice(api, searching, 1);
    for (const address of [path, `${path}/${number}`, `${path}/${number}.html`]) {
      expect(await searching.get(address)).toMatchObject({ status: 403, json: { reason: 'unauthorized' } });
      expect((await api.call('GET', address)).status).toBe(401);
    }
  });
});

describe('GET /api/v2/invoices', () => {
  const numbers = (response: { json: { data: { number: string }[] } }) =>
    response.json.data.map(({ number }) => number.split('-')[1]);

  /** The path and query of the next page, as the caller reaches it here. */
  const nextOf = (headers: Readonly<Record<string, unknown>>): string => {
    const [, address = ''] =
      /^<https:\/\/certs\.example\.com\/base(\S+)>; rel="next"$/.exec(String(headers.link)) ?? [];
    return address;
  };

  it('lists those of the account only, the newest first, page by page', async () => {
    await forgeInvoice(api, other, 1);
    for (let running = 1; running <= 5; running += 1) {
      // Two of the same instant: their order stays the same from page to page.
      const at = new Date(issuedAt.getTime() + Math.min(running, 4) * 1_000);
      await forgeInvoice(api, tenant, running, { issuedAt: at });
    }
    const first = await tenant.get(`${path}?limit=2`);
    expect(first.headers['content-type']).toBe('application/json');
    const second = await tenant.get(nextOf(first.headers));
    const third = await tenant.get(nextOf(second.headers));
    expect([first, second, third].flatMap(numbers)).toEqual(['5', '4', '3', '2', '1']);
    expect(third.headers).not.toHaveProperty('link');
    expect((await tenant.get(`${path}?limit=5`)).headers).not.toHaveProperty('link');
    const whole = await tenant.get(path);
    expect(whole.json.data[0]).toEqual((await tenant.get(`${path}/${tenant.accountId}-5`)).json);
    expect((await other.get(path)).json.data).toHaveLength(1);
  });

  it('is an empty list for an account without invoices', async () => {
    expect(await tenant.get(path)).toMatchObject({ status: 200, json: { data: [] } });
  });

  it('shows nothing of another account behind one of its numbers', async () => {
    await forgeInvoice(api, tenant, 1);
    const theirs = await forgeInvoice(api, other, 1);
    const { status, json } = await tenant.get(`${path}?after=${theirs}`);
    expect(status).toBe(200);
    for (const { number } of json.data) expect(number).toBe(`${tenant.accountId}-1`);
    // Whether that number exists cannot be seen.
    expect((await tenant.get(`${path}?after=${other.accountId}-2`)).text).toBe(
      (await tenant.get(`${path}?after=${theirs}`)).text,
    );
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['limit[]=1', null],
    ['limit=%201', 'limit'],
    ['after=x', 'after'],
    ['after=1-1&after=1-2', 'after'],
    ['after=__proto__', 'after'],
    [`after=${'9'.repeat(300)}-1`, 'after'],
    ['after=', null],
    ['limit=', null],
    ['unknown=1', null],
  ])('?%s blames %s', async (query, param) => {
    const { status, json } = await tenant.get(`${path}?${query}`);
    if (param === null) expect(status).toBe(200);
    else expect({ status, json }).toMatchObject({ status: 400, json: { reason: 'bad_param', param } });
  });

  it('does not do more work for more invoices', async () => {
    const list = () => tenant.get(path);
    await forgeInvoice(api, tenant, 1);
    await list();
    const few = await api.statementsOf(list);
    for (let running = 2; running <= 20; running += 1) await forgeInvoice(api, tenant, running);
    expect(await api.statementsOf(list)).toEqual(few);
  });
});

describe('GET /api/v2/invoices/{number}.html', () => {
  it('is a self-contained page: its policy only allows the style in it', async () => {
    const number = await forgeInvoice(api, tenant, 1, { lines, issuedAt });
    const { status, headers, text } = await tenant.get(`${path}/${number}.html`);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-store');
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? [];
    const digest = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(style).toContain('@media print');
    expect(text).not.toMatch(
      /<(script|link|img|iframe|form|object|meta http-equiv)|\s(style|on\w+|src|href)=/,
    );
    for (const said of [number, '2026-11-20', 'A tenant', 'Amount (USD)', '24.00', '99.00', '123.00'])
      expect(text).toContain(said);
  });

  it('shows what others wrote as text', async () => {
    const hostile = `</p><script>alert(1)</script>\n"'&\u202e`;
    await api.database.query(`UPDATE account SET name = $2 WHERE id = $1`, [tenant.accountId, hostile]);
    const number = await forgeInvoice(api, tenant, 1, { lines, note: hostile });
    const { text } = await tenant.get(`${path}/${number}.html`);
    expect(text).not.toContain('<script>');
    expect(text).not.toContain('<b>');
    expect(text.split('&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n&quot;&#39;&amp;')).toHaveLength(3);
  });

  it('shows when it was refunded', async () => {
    const number = await forgeInvoice(api, tenant, 1, { refundedAt: issuedAt });
    expect((await tenant.get(`${path}/${number}.html`)).text).toContain('Given back on 2026-11-20');
  });
});
