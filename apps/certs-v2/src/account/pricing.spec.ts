import { certificateRequest, keyPair } from '../testing/certificate-request';
import { type ReceivedResponse, RunningApi, type Tenant } from '../testing/running-api';

// A machine that is busy with other specs must not fail these.
jest.setTimeout(30_000);

let sandbox: RunningApi;
let production: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  sandbox = await RunningApi.start();
  production = await RunningApi.start({ CERTWRIGHT_MODE: 'production', EV_PRODUCT: 'monthly' });
  await production.database.query(
    `UPDATE product SET price_cents = 1595, wildcard_price_cents = 14995 WHERE name = 'paid_ca'`,
  );
  await production.database.query(
    `INSERT INTO product (name, csr_names_every_dns_name, max_dns_names, email_approval, lifetime_days, subject_common_name,
       certificate_authority, term_days, price_cents, currency)
     VALUES ('monthly', false, 3, true, 30, true, 'built-in', 30, 100, 'EUR')`,
  );
});
beforeEach(async () => {
  tenant = await production.tenant();
});
afterAll(async () => {
  await sandbox.stop();
  await production.stop();
});

const pricing = async (query: string, of = tenant) => await of.get(`/api/v2/pricing?${query}`);
const refusalOf = ({ status, json }: ReceivedResponse) => [status, json.reason, json.param];
const balance = async (cents: number) =>
  await production.database.query(
    `INSERT INTO account_balance (account_id, currency, balance_cents) VALUES ($1, 'USD', $2)`,
    [tenant.accountId, cents],
  );

describe('the price of a certificate', () => {
  it('is returned for a year, in cents, with the names that default SANs add', async () => {
    const { status, headers, json } = await pricing('cn=WWW.example.com');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      dns_names: ['www.example.com', 'example.com'],
      duration: 1,
      duration_unit: 'year',
      currency: 'USD',
      price: expect.any(Number),
      description: 'DV certificate, 2 names',
      payment: { method: 'none' },
    });
  });

  it.each([
    ['cn=example.com', ['example.com', 'www.example.com'], 1_595],
    ['cn=%2A.example.com', ['*.example.com', 'example.com'], 14_995],
    ['cn=example.com&custom_sans=true', ['example.com'], 1_595],
    ['cn=example.com&custom_sans=1&san=A.example.net', ['example.com', 'a.example.net'], 2 * 1_595],
    [
      'cn=example.com&custom_sans=true&san=b.example.net&san=b%C3%BCcher.example.com',
      ['example.com', 'b.example.net', 'xn--bcher-kva.example.com'],
      3 * 1_595,
    ],
    ['cn=example.com&custom_sans=false&san=a.example.net', ['example.com', 'www.example.com'], 1_595],
    ['cn=example.com&san=not+looked+at', ['example.com', 'www.example.com'], 1_595],
    ['cn=example.com&custom_sans=true&san=', ['example.com'], 1_595],
  ])('%s', async (query, dnsNames, price) => {
    expect((await pricing(query)).json).toMatchObject({ dns_names: dnsNames, price });
  });

  it('is what buying costs, also where a term is running already', async () => {
    await balance(100_000);
    const csr = certificateRequest(keyPair('p256'), { CN: 'example.com' });
    await tenant.post('/api/v2/certs/example.com', { csr, approval_method: 'dns' });
    for (const sans of [null, [{ value: 'a.example.net', approval_method: 'dns' }]]) {
      await tenant.post('/api/v2/certs/example.com', { sans });
      const query = sans === null ? '' : '&custom_sans=1&san=a.example.net';
      const { price } = (await pricing(`cn=example.com${query}`)).json;
      expect((await tenant.post('/api/v2/certs/example.com/buy')).status).toBe(200);
      const [charge] = await production.database.query<{ cents: number }>(
        `SELECT cents FROM charge WHERE account_id = $1 ORDER BY id DESC LIMIT 1`,
        [tenant.accountId],
      );
      expect([price, charge?.cents]).toEqual([sans === null ? 1_595 : 3_190, price]);
    }
  });

  it('is paid from the balance, of which the price takes nothing yet', async () => {
    await balance(5);
    const { json } = await pricing('cn=example.com');
    expect([json.price, json.payment]).toEqual([1_595, { method: 'balance' }]);
    expect((await tenant.get('/api/v2/account')).json.balance_cents).toBe(5);
  });

  it('is nothing in a sandbox, and nothing is to be paid', async () => {
    const { json } = await pricing('cn=example.com', await sandbox.tenant());
    expect(json).toMatchObject({ price: 0, payment: null, duration: 1, duration_unit: 'year' });
  });

  it('is returned for the other type, in days when a term is no year', async () => {
    expect((await pricing('cn=example.com&type=ev')).json).toMatchObject({
      duration: 30,
      duration_unit: 'day',
      currency: 'EUR',
      price: 100,
      description: 'EV certificate, 2 names',
    });
  });

  it.each([
    ['', 'missing_param', 'cn'],
    ['cn=', 'missing_param', 'cn'],
    ['cn=com', 'bad_cn', 'cn'],
    ['cn=192.0.2.1', 'bad_cn', 'cn'],
    ['cn=a%00b.example.com', 'bad_request', undefined],
    ['cn=a.example.com&cn=b.example.com', 'bad_param', 'cn'],
    ['cn=example.com&type=ov', 'bad_type', 'type'],
    ['cn=example.com&type=constructor', 'bad_type', 'type'],
    ['cn=example.com&type=dv&type=ev', 'bad_param', 'type'],
    ['cn=example.com&custom_sans=maybe', 'bad_param', 'custom_sans'],
    ['cn=example.com&custom_sans=1&san=localhost', 'bad_sans', 'san'],
    ['cn=example.com&custom_sans=1&san=example.com', 'bad_sans', 'san'],
    ['cn=example.com&custom_sans=1&san=a.example.com&san=A.example.com.', 'bad_sans', 'san'],
    ['cn=example.com&custom_sans=1&san=__proto__', 'bad_sans', 'san'],
    [
      'cn=example.com&type=ev&custom_sans=1&san=a.example.com&san=b.example.com&san=c.example.com',
      'bad_sans',
      'san',
    ],
    ['cn=%2A.co.uk', 'bad_cn', 'cn'],
  ])('%s is refused with %s on %s', async (query, reason, param) => {
    expect(refusalOf(await pricing(query))).toEqual([400, reason, param]);
  });

  it.each([
    ['150 SANs', `cn=example.com&custom_sans=1${'&san=a.example.com'.repeat(150)}`],
    ['a default SAN that is too long', `cn=${`${'a'.repeat(59)}.`.repeat(4)}example.com`],
  ])('%s are refused with bad_sans', async (_what, query) => {
    expect(refusalOf(await pricing(query))).toEqual([400, 'bad_sans', 'san']);
  });

  it('is not returned for products that are not sold', async () => {
    expect(refusalOf(await pricing('cn=example.com&type=ev', await sandbox.tenant()))).toEqual([
      409,
      'product_unavailable',
      'type',
    ]);
  });

  it('is not returned to users who may not buy', async () => {
    expect((await pricing('cn=example.com', await production.tenant('Search Certificates'))).status).toBe(
      403,
    );
  });
});

describe('a product, as clients up to version 1.7 request it', () => {
  const product = async (query: string, type = 'dv') => await tenant.get(`/api/v2/products/${type}?${query}`);

  it('has its price, the names that are added, and how the name can be approved', async () => {
    await balance(5_000);
    const { status, json } = await product('cn=WWW.example.com');
    expect(status).toBe(200);
    expect(json).toEqual({
      cn: 'www.example.com',
      default_sans: ['www.example.com', 'example.com'],
      description: 'DV certificate, 2 names',
      years: 1,
      price: { currency: 'USD', base_price: 1_595, discount: 0, amount_due: 1_595 },
      payment: { method: 'balance' },
      approval_methods: ['email', 'dns', 'http'],
      approver_emails: expect.arrayContaining(['admin@example.com']),
    });
  });

  it.each([
    ['sans=0', 1_595],
    ['sans=2', 3 * 1_595],
    ['sans=1&wildcard_sans=1', 2 * 1_595 + 14_995],
    ['sans=', 1_595],
  ])('costs as much as %s names more', async (query, amount) => {
    expect((await product(`cn=example.com&${query}`)).json.price.amount_due).toBe(amount);
  });

  it.each([
    ['cn=example.com&sans=x', 'bad_param', 'sans'],
    ['cn=example.com&sans=1&sans=2', 'bad_param', 'sans'],
    ['cn=example.com&wildcard_sans=1000', 'bad_param', 'wildcard_sans'],
    ['cn=example.com&sans=60&wildcard_sans=60', 'bad_sans', 'sans'],
    ['cn=www.co.uk', 'bad_sans', 'sans'],
    ['cn=co.uk', 'bad_cn', 'cn'],
    ['', 'missing_param', 'cn'],
  ])('is refused for %s', async (query, reason, param) => {
    expect(refusalOf(await product(query))).toEqual([400, reason, param]);
  });
});
