import { consequencesOf, modifiedOrder, type Order, type OrderPatch, type ProductSupport } from './order';

const csr = { der: Buffer.from('csr'), spkiSha256: Buffer.alloc(32, 1) };
const otherCsr = { der: Buffer.from('another csr'), spkiSha256: Buffer.alloc(32, 2) };

const order: Order = {
  name: 'example.com',
  dnsNames: ['example.com', 'www.example.com'],
  approverEmails: {},
  cluster: null,
  autoRenew: true,
  muted: false,
  paused: false,
  product: 'free_ca',
  keyType: 'ecdsa',
  csr,
};

/** `free_ca` wants every DNS name in the CSR and knows no approval by email. */
const freeCa: ProductSupport = { namesEveryDnsName: true, emailApproval: false, existingCsr: () => false };
const paidCa: ProductSupport = { namesEveryDnsName: false, emailApproval: true, existingCsr: () => true };

const csrAfter = (patch: OrderPatch, support: ProductSupport, before = order) =>
  modifiedOrder(before, patch, support).csr;

describe('resets csr to null', () => {
  it('when a name is removed and the product is free_ca', () => {
    expect(csrAfter({ dnsNames: ['example.com'] }, freeCa)).toBeNull();
  });

  it('when a name is added and the product is free_ca', () => {
    expect(csrAfter({ dnsNames: [...order.dnsNames, 'a.example.com'] }, freeCa)).toBeNull();
  });

  it('when a name is replaced by another and the product is free_ca', () => {
    expect(csrAfter({ dnsNames: ['example.com', 'a.example.com'] }, freeCa)).toBeNull();
  });

  it('when the cluster changes', () => {
    expect(csrAfter({ cluster: 'web' }, paidCa)).toBeNull();
    expect(csrAfter({ cluster: null }, paidCa, { ...order, cluster: 'web' })).toBeNull();
    expect(csrAfter({ cluster: 'db' }, paidCa, { ...order, cluster: 'web' })).toBeNull();
  });

  it('when the key type changes', () => {
    expect(csrAfter({ keyType: 'rsa' }, paidCa)).toBeNull();
  });

  it('when the product changes and the new one does not support the existing CSR', () => {
    expect(csrAfter({ product: 'paid_ca' }, { ...paidCa, existingCsr: () => false })).toBeNull();
  });
});

describe('keeps csr', () => {
  it('when names change and the product does not require them in the CSR', () => {
    expect(csrAfter({ dnsNames: ['example.com'] }, paidCa)).toBe(csr);
  });

  it('when names come in another sequence', () => {
    expect(csrAfter({ dnsNames: ['www.example.com', 'example.com'] }, freeCa)).toBe(csr);
  });

  it('when the product changes and the new one supports the existing CSR', () => {
    expect(csrAfter({ product: 'paid_ca' }, paidCa)).toBe(csr);
  });

  it('when renewal, notices or the pause change', () => {
    expect(csrAfter({ autoRenew: false, muted: true, paused: true }, freeCa)).toBe(csr);
  });

  it('when a reason to reset it comes together with a new one', () => {
    expect(csrAfter({ dnsNames: ['example.com'], keyType: 'rsa', csr: otherCsr }, freeCa)).toBe(otherCsr);
  });
});

describe('approvers of an update that does not send approver_emails', () => {
  const approved = {
    ...order,
    product: 'paid_ca',
    approverEmails: { 'www.example.com': 'admin@example.com' },
  };

  it('are removed with their name', () => {
    expect(modifiedOrder(approved, { dnsNames: ['example.com'] }, paidCa).approverEmails).toEqual({});
  });

  it('stay with their name', () => {
    const { approverEmails } = modifiedOrder(approved, { dnsNames: ['www.example.com'] }, paidCa);
    expect(approverEmails).toEqual(approved.approverEmails);
  });

  it('are removed with a product that supports approval by email', () => {
    expect(modifiedOrder(approved, { product: 'free_ca' }, freeCa).approverEmails).toEqual({});
  });
});

describe('what a modification brings about', () => {
  const after = (change: Partial<Order>) => consequencesOf(order, { ...order, ...change });

  it('is null when nothing changed', () => {
    expect(after({})).toBeNull();
    expect(after({ dnsNames: [...order.dnsNames].reverse() })).toBeNull();
    expect(after({ csr: { der: Buffer.from('csr'), spkiSha256: Buffer.alloc(32, 1) } })).toBeNull();
  });

  it.each<[keyof Order, Partial<Order>]>([
    ['autoRenew', { autoRenew: false }],
    ['muted', { muted: true }],
    ['cluster', { cluster: 'web' }],
  ])('is a new certificate from the same terms when %s changed', (_member, change) => {
    expect(after(change)).toEqual({ terms: 'keep', issuance: 'open' });
  });

  it.each<[keyof Order, Partial<Order>]>([
    ['dnsNames', { dnsNames: ['example.com'] }],
    ['csr', { csr: otherCsr }],
    ['keyType', { keyType: 'rsa' }],
    ['product', { product: 'paid_ca' }],
    ['approverEmails', { approverEmails: { 'example.com': 'admin@example.com' } }],
  ])('is a new certificate from new terms when %s changed', (_member, change) => {
    expect(after(change)).toEqual({ terms: 'replace', issuance: 'open' });
  });

  it('is the end of what is under way when the order is paused', () => {
    expect(after({ paused: true })).toEqual({ terms: 'keep', issuance: 'close' });
    expect(after({ paused: true, csr: otherCsr })).toEqual({ terms: 'replace', issuance: 'close' });
  });

  it('is the end of what is under way when the CSR is reset', () => {
    expect(after({ csr: null })).toEqual({ terms: 'clear', issuance: 'close' });
    const without = { ...order, csr: null };
    expect(consequencesOf(without, { ...without, muted: true })).toEqual({
      terms: 'keep',
      issuance: 'close',
    });
    expect(consequencesOf(without, { ...without, dnsNames: ['example.com'] })?.terms).toBe('clear');
  });

  it('is a certificate when the pause ends', () => {
    expect(consequencesOf({ ...order, paused: true }, order)).toEqual({ terms: 'keep', issuance: 'open' });
  });
});
