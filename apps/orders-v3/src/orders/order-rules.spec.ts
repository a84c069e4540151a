import 'reflect-metadata';
import type { Product } from '@certwright/issuance';
import { readMembers } from '@certwright/service';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { draftModification, draftOrder } from './order-draft';
import type { OrderContext } from './order-rules';
import { OrderRequest } from './order-request';

const ec = keyPair('p256');
const rsa = keyPair('rsa2048');
const csrFor = (...dnsNames: string[]) => certificateRequest(ec, { dnsNames });

const product = (name: string, change: Partial<Product> = {}): Product => ({
  name,
  available: true,
  csrNamesEveryDnsName: name === 'free_ca',
  maxDnsNames: 3,
  emailApproval: name === 'paid_ca',
  lifetimeDays: 90,
  subjectCommonName: false,
  certificateAuthority: 'built-in',
  authorities: [],
  httpApproval: true,
  rsaSizes: [2048, 3072, 4096],
  curves: ['P-256', 'P-384'],
  termDays: null,
  priceCents: 0,
  wildcardPriceCents: 0,
  currency: 'USD',
  ...change,
});
const products = [product('free_ca'), product('paid_ca'), product('paid_ev_ca')];
const context: OrderContext = {
  products: new Map(products.map((each) => [each.name, each])),
  clusterExists: true,
  keyBlocked: false,
};

const withoutPaid: Partial<OrderContext> = {
  products: new Map([...context.products, ['paid_ca', product('paid_ca', { available: false })]]),
};

const read = (body: object) => readMembers(OrderRequest, body as Readonly<Record<string, unknown>>);
const draft = (body: object, known: Partial<OrderContext> = {}) =>
  draftOrder(read(body), { ...context, ...known });
const faultsOf = (body: object, known: Partial<OrderContext> = {}) => codes(draft(body, known));
const codes = ({ faults }: ReturnType<typeof draftOrder>) =>
  faults.map(({ field, code }) => `${field} ${code}`);

const names = { dns_names: ['example.com'] };
const free = { ...names, csr: csrFor('example.com') };
const paid = { ...names, product: 'paid_ca', csr: certificateRequest(ec, {}) };

describe('on creation', () => {
  it('takes the defaults of what is left out', () => {
    expect(draft(free)).toMatchObject({
      faults: [],
      order: {
        name: 'example.com',
        product: 'free_ca',
        keyType: 'ecdsa',
        cluster: null,
        autoRenew: true,
        muted: false,
        paused: false,
      },
    });
  });

  it('needs DNS names', () => {
    expect(faultsOf({ csr: free.csr })).toEqual(['dns_names missing_field']);
    expect(faultsOf({ ...free, dns_names: [] })).toEqual(['dns_names invalid_value']);
    expect(faultsOf({ ...free, dns_names: null })).toEqual(['dns_names invalid_value']);
    expect(faultsOf({ ...free, dns_names: { '0': 'example.com' } })).toEqual(['dns_names invalid_value']);
  });

  it('refuses more names than the product allows, duplicates not counted', () => {
    const four = ['a.example.com', 'b.example.com', 'c.example.com', 'd.example.com'];
    expect(faultsOf({ ...paid, dns_names: four })).toEqual(['dns_names too_many_names']);
    expect(faultsOf({ ...paid, dns_names: [...four.slice(1), ...four.slice(1)] })).toEqual([]);
    expect(faultsOf({ ...paid, dns_names: Array(50_000).fill('x') })).toEqual(['dns_names too_many_names']);
  });

  it('needs a CSR for an unmanaged order and refuses one for a managed order', () => {
    expect(faultsOf(names)).toEqual(['csr csr_required']);
    expect(faultsOf({ ...names, csr: null })).toEqual(['csr csr_required']);
    expect(faultsOf({ ...free, cluster: 'web' })).toEqual(['csr csr_not_allowed']);
    expect(faultsOf({ ...names, csr: null, cluster: 'web' })).toEqual([]);
  });

  it('rejects an unknown product, and an unavailable one', () => {
    expect(faultsOf({ ...free, product: '__proto__' })).toEqual(['product invalid_value']);
    expect(faultsOf(paid, withoutPaid)).toEqual(['product product_unavailable']);
  });

  it('rejects a product of another API', () => {
    expect(draft({ ...paid, product: 'paid_ev_ca' }).faults).toEqual([
      {
        field: 'product',
        code: 'invalid_value',
        message: 'There is no such product; available: free_ca, paid_ca.',
      },
    ]);
  });

  it('refuses a cluster that the account does not have', () => {
    expect(faultsOf({ ...names, cluster: 'web' }, { clusterExists: false })).toEqual([
      'cluster unknown_cluster',
    ]);
  });

  it('checks the CSR against names, key type and product', () => {
    expect(faultsOf({ ...free, dns_names: ['www.example.com'] })).toEqual(['csr csr_san_mismatch']);
    expect(faultsOf({ ...free, key_type: 'rsa' })).toEqual(['csr unsupported_key_type']);
    const otherName = { commonName: 'www.example.com', dnsNames: ['example.com'] };
    expect(faultsOf({ ...names, csr: certificateRequest(rsa, otherName) })).toEqual(['csr csr_cn_mismatch']);
    expect(faultsOf(paid)).toEqual([]);
    const ed25519 = certificateRequest(keyPair('ed25519'), { dnsNames: ['example.com'] });
    expect(faultsOf({ ...names, csr: ed25519 })).toEqual(['csr unsupported_key_type']);
  });

  it('checks only the key of the CSR while the names are invalid', () => {
    expect(faultsOf({ ...free, dns_names: ['localhost'] })).toEqual(['dns_names not_public_domain']);
  });

  describe('obeys the key rules of the product', () => {
    const selling = (change: Partial<Product>) => {
      return { products: new Map([['paid_ca', product('paid_ca', change)]]) };
    };
    const withRsa = { ...names, product: 'paid_ca', csr: certificateRequest(rsa, {}) };
    const faultsWith = (body: object, change: Partial<Product>) => draft(body, selling(change)).faults;

    it('a size that it does not take, naming those that it takes', () => {
      expect(faultsWith(withRsa, { rsaSizes: [3072, 4096] })).toEqual([
        {
          field: 'csr',
          code: 'unsupported_key_size',
          message: 'The RSA key has 2048 bits; it must have 3072 or 4096.',
        },
      ]);
      expect(faultsWith(withRsa, { rsaSizes: [2048] })).toEqual([]);
    });

    it('a curve that it does not take, naming those that it takes', () => {
      expect(faultsWith(paid, { curves: ['P-384'] })).toEqual([
        {
          field: 'csr',
          code: 'unsupported_curve',
          message: 'The ECDSA key is on P-256; it must be on P-384, by name.',
        },
      ]);
      expect(faultsWith(paid, { curves: ['P-256'] })).toEqual([]);
    });

    it('a key type that it does not take, with a CSR and without one', () => {
      expect(faultsWith(withRsa, { rsaSizes: [] })).toMatchObject([
        { field: 'csr', code: 'unsupported_key_type', message: 'The CSR has an RSA key; it must be ECDSA.' },
      ]);
      const managed = { ...names, product: 'paid_ca', cluster: 'web', key_type: 'rsa' };
      expect(faultsWith(managed, { rsaSizes: [] })).toMatchObject([
        { field: 'key_type', code: 'unsupported_key_type' },
      ]);
      expect(faultsWith({ ...managed, key_type: 'ecdsa' }, { rsaSizes: [] })).toEqual([]);
    });
  });

  it('takes approvers for names of the order, at constructed addresses, with paid_ca alone', () => {
    const by = (approver_emails: unknown) => faultsOf({ ...paid, approver_emails });
    expect(by({ 'Example.COM.': 'Hostmaster@example.com' })).toEqual([]);
    expect(by({ 'other.example.com': 'admin@example.com' })).toEqual(['approver_emails invalid_approver']);
    expect(by({ constructor: 'admin@example.com' })).toEqual(['approver_emails invalid_approver']);
    expect(by({ 'example.com': 'ceo@example.com' })).toEqual(['approver_emails invalid_approver']);
    expect(by({ 'example.com': null })).toEqual(['approver_emails invalid_value']);
    expect(by({ 'example.com': 'admin@example.com', 'EXAMPLE.com': 'webmaster@example.com' })).toEqual([
      'approver_emails invalid_value',
    ]);
    expect(by(['admin@example.com'])).toEqual(['approver_emails invalid_value']);
    expect(faultsOf({ ...free, approver_emails: { 'example.com': 'admin@example.com' } })).toEqual([
      'approver_emails email_not_supported',
    ]);
    expect(faultsOf({ ...free, approver_emails: {} })).toEqual([]);
  });

  describe('refuses a name that is too long for its approval record', () => {
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(34)}.example.com`;
    const without = (change: Partial<Product>) => ({
      products: new Map([['paid_ca', product('paid_ca', change)]]),
    });
    const refusal = ['dns_names invalid_dns_name'];
    const ordered = (dnsName: string, more: object = {}) => ({ ...paid, dns_names: [dnsName], ...more });

    it('a wildcard, unless an address may approve it', () => {
      expect(faultsOf(ordered(`*.${long.slice(1)}`))).toEqual([]);
      const { faults } = draft(ordered(`*.${long}`));
      expect(faults).toMatchObject([{ field: 'dns_names', code: 'invalid_dns_name' }]);
      expect(faults[0]?.message).toContain('is longer than 237 bytes without "*."');
      expect(faults[0]?.message).toContain('approver_emails');
      const approver_emails = { [`*.${long}`]: 'admin@example.com' };
      expect(faultsOf(ordered(`*.${long}`, { approver_emails }))).toEqual([]);
      expect(faultsOf(ordered(`*.${long}`), without({ emailApproval: false }))).toEqual(refusal);
    });

    it('another name only where the product takes no web server rule', () => {
      expect(faultsOf(ordered(long))).toEqual([]);
      expect(faultsOf(ordered(long), without({ httpApproval: false }))).toEqual(refusal);
    });

    it('only when it is added', () => {
      const { order: kept } = draft(ordered(`*.${long}`));
      const after = (body: object) => codes(draftModification(kept, read(body), context));
      expect(after({ muted: true })).toEqual([]);
      expect(after({ dns_names: [`*.${long}`, `*.e.${long.slice(1)}`] })).toEqual(refusal);
    });
  });
});

describe('on modification', () => {
  const before = draft({ ...free, name: 'mine' }).order;
  const modified = (body: object, order = before, known: Partial<OrderContext> = {}) =>
    draftModification(order, read(body), { ...context, ...known });

  it('refuses another name and ignores the same one', () => {
    expect(codes(modified({ name: 'yours' }))).toEqual(['name immutable_field']);
    expect(codes(modified({ name: 'mine' }))).toEqual([]);
  });

  it('keeps the key type, so that a CSR of the other type is refused without one', () => {
    const csr = certificateRequest(rsa, { dnsNames: ['example.com'] });
    expect(codes(modified({ csr }))).toEqual(['csr unsupported_key_type']);
    expect(modified({ csr, key_type: 'rsa' })).toMatchObject({ faults: [], order: { keyType: 'rsa' } });
  });

  it('checks a CSR against the resulting names', () => {
    const dns_names = ['a.example.com'];
    expect(codes(modified({ dns_names, csr: csrFor('a.example.com') }))).toEqual([]);
    expect(codes(modified({ dns_names, csr: free.csr }))).toEqual(['csr csr_san_mismatch']);
  });

  it('takes null as CSR when the result is null anyway', () => {
    expect(codes(modified({ csr: null }))).toEqual(['csr csr_required']);
    expect(modified({ csr: null, key_type: 'rsa' })).toMatchObject({ faults: [], order: { csr: null } });
    expect(codes(modified({ csr: null }, { ...before, csr: null }))).toEqual([]);
  });

  it('checks the existing CSR when the product changes', () => {
    const paidOrder = draft(paid).order;
    expect(modified({ product: 'free_ca' }, paidOrder).order.csr).toBeNull();
    expect(modified({ product: 'paid_ca' }).order.csr).not.toBeNull();
    const named = draft({ ...paid, csr: free.csr }).order;
    expect(modified({ product: 'free_ca' }, named).order.csr).not.toBeNull();
    expect(
      modified({ product: 'free_ca', dns_names: ['example.com', 'a.example.com'] }, named).order.csr,
    ).toBeNull();
  });

  it("resets csr when the new product does not take its key, and keeps it when the operator changes the order's own", () => {
    const selling = (name: string) => {
      return { products: new Map([...context.products, [name, product(name, { curves: ['P-384'] })]]) };
    };
    const named = draft({ ...paid, csr: free.csr }).order;
    const changed = modified({ product: 'free_ca' }, named, selling('free_ca'));
    expect(changed).toMatchObject({ faults: [], order: { csr: null } });
    const muted = modified({ muted: true }, named, selling('paid_ca'));
    expect(muted.faults).toEqual([]);
    expect(muted.order.csr).not.toBeNull();
    expect(codes(modified({ csr: free.csr }, named, selling('paid_ca')))).toEqual(['csr unsupported_curve']);
  });

  it('keeps a product that is not available any more, but does not change to one', () => {
    expect(codes(modified({ muted: true }, { ...before, product: 'paid_ca' }, withoutPaid))).toEqual([]);
    expect(codes(modified({ product: 'paid_ca' }, before, withoutPaid))).toEqual([
      'product product_unavailable',
    ]);
  });

  it('keeps a product of another API, but does not change to one', () => {
    const order = { ...before, product: 'paid_ev_ca' };
    expect(codes(modified({ muted: true, product: 'paid_ev_ca' }, order))).toEqual([]);
    expect(codes(modified({ product: 'paid_ev_ca' }))).toEqual(['product invalid_value']);
  });

  it('keeps more names than the product allows by now, but takes no other ones', () => {
    const small = { products: new Map([['paid_ca', product('paid_ca', { maxDnsNames: 1 })]]) };
    const [a, b, c] = ['a.example.com', 'b.example.com', 'c.example.com'];
    const three = draft({ ...paid, dns_names: [a, b, c] }).order;
    const after = (body: object) => codes(modified(body, three, small));
    expect(after({ paused: true })).toEqual([]);
    expect(after({ dns_names: [c, b, a] })).toEqual([]);
    expect(after({ dns_names: [a, b] })).toEqual([]);
    expect(after({ dns_names: [a, b, 'd.example.com'] })).toEqual(['dns_names too_many_names']);
  });

  it('refuses kept names that are too many for a new product', () => {
    const small = new Map([...context.products, ['free_ca', product('free_ca', { maxDnsNames: 1 })]]);
    const two = draft({ ...paid, dns_names: ['example.com', 'a.example.com'] }).order;
    expect(codes(modified({ product: 'free_ca' }, two, { products: small }))).toEqual([
      'dns_names too_many_names',
    ]);
  });
});
