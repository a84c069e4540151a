import { certificateRequest, keyPair } from '../testing/certificate-request';
import { desired, product, refused } from '../testing/desired';
import type { CertObject } from './cert-object';
import { changesOf } from './desired-cert-object';
import { maxTags } from './tags';

const keys = keyPair('p256');
const cn = 'www.example.com';
const csrFor = (name: string) => certificateRequest(keys, { CN: name });
const csr = csrFor(cn);

const byDns = { csr, approval_method: 'dns' };
const byEmail = { csr, approval_method: 'email', approver_email: 'admin@example.com' };
const san = (value: string, more: object = { approval_method: 'dns' }) => ({ type: 'dns', value, ...more });

const created = (body: object = byDns, name = cn) => desired(null, name, body);
const whyNot = (body: object, before: CertObject | null = null, name = cn) => {
  const { reason, param } = refused(() => desired(before, name, body));
  return [reason, param];
};

describe('a new certificate object', () => {
  it('defaults to the type dv, default SANs, automatic renewal and no tags', () => {
    expect(created()).toMatchObject({
      cn,
      type: 'dv',
      sans: null,
      tags: [],
      autoRenew: true,
      muted: false,
      approvalMethod: 'dns',
      approverEmail: null,
    });
  });

  it.each([
    ['csr', { approval_method: 'dns' }],
    ['approval_method', { csr }],
    ['approver_email', { csr, approval_method: 'email' }],
    ['csr', { ...byDns, csr: null }],
    ['approval_method', { ...byDns, approval_method: null }],
    ['approver_email', { ...byEmail, approver_email: null }],
  ])('must be given %s', (param, body) => {
    expect(whyNot(body)).toEqual(['missing_param', param]);
  });
});

describe('a change of an object', () => {
  const before = created({ ...byEmail, sans: [san('a.example.com'), san('b.example.com')], tags: ['x'] });

  it.each([
    ['muted', { muted: true }, { muted: true }],
    ['auto_renew', { auto_renew: '0' }, { autoRenew: false }],
    ['tags', { tags: [] }, { tags: [] }],
    ['type', { type: 'ev' }, { type: 'ev' }],
    ['sans', { sans: [] }, { sans: [] }],
    ['sans back to the default', { sans: 'null' }, { sans: null }],
    [
      'approver_email',
      { approver_email: 'Webmaster@Example.com' },
      { approverEmail: 'webmaster@example.com' },
    ],
  ])('changes %s and nothing else', (_what, body, changed) => {
    expect(desired(before, cn, body)).toEqual({ ...before, ...changed });
  });

  it('drops the address when email is left, and needs one when it is come to', () => {
    const after = desired(before, cn, { approval_method: 'http' });
    expect(after).toMatchObject({ approvalMethod: 'http', approverEmail: null });
    expect(whyNot({ approval_method: 'email' }, after)).toEqual(['missing_param', 'approver_email']);
    expect(desired(after, cn, { approval_method: 'email', approver_email: 'admin@example.com' })).toEqual(
      before,
    );
  });

  it('is none when the same values are sent again, in another order too', () => {
    const again = {
      ...byEmail,
      type: 'dv',
      sans: [san('B.example.com'), san('a.example.com')],
      tags: ['x', 'x'],
    };
    const after = desired(before, cn, again);
    expect(after).toEqual(before);
    expect(changesOf(before, after)).toEqual({ approvals: false, terms: false, any: false });
  });

  it('makes new terms for what a certificate is made from, and for nothing else', () => {
    const terms = (body: object) => changesOf(before, desired(before, cn, body)).terms;
    expect([{ muted: true }, { auto_renew: false }, { tags: ['y'] }].map(terms)).toEqual([
      false,
      false,
      false,
    ]);
    const effective = [
      { csr: csrFor(cn) },
      { type: 'ev' },
      { sans: null },
      { sans: [san('a.example.com')] },
      { sans: [san('a.example.com', { approval_method: 'http' }), san('b.example.com')] },
      { approval_method: 'dns' },
      { approver_email: 'admin@www.example.com' },
    ];
    expect(effective.map(terms)).toEqual(effective.map(() => true));
  });
});

describe('approval_method', () => {
  it.each(['', 'DNS', 'file', 5])('refuses %j', (approval_method) => {
    expect(whyNot({ ...byDns, approval_method })).toEqual(['bad_approval_method', 'approval_method']);
  });

  it('http is never for a wildcard', () => {
    const wildcard = '*.example.com';
    const body = { csr: csrFor(wildcard), approval_method: 'http' };
    expect(whyNot(body, null, wildcard)).toEqual(['bad_approval_method', 'approval_method']);
    const sans = [san(wildcard, { approval_method: 'http' })];
    expect(whyNot({ ...byDns, sans })).toEqual(['bad_approval_method', 'sans']);
  });

  it('dns is for names of at most 237 bytes, which leave room for the record', () => {
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(34)}.example.com`;
    expect(long).toHaveLength(238);
    const sans = [san(long, { approval_method: 'dns' })];
    const { reason, param, message } = refused(() => desired(null, cn, { ...byDns, sans }));
    expect([reason, param]).toEqual(['bad_approval_method', 'sans']);
    expect(message).toContain('is longer than 237 bytes without "*."');
    const shorter = [san(long.slice(1), { approval_method: 'dns' })];
    expect(desired(null, cn, { ...byDns, sans: shorter }).sans).toHaveLength(1);
  });

  it.each([
    ['email', { emailApproval: false }, byEmail],
    ['http', { httpApproval: false }, { csr, approval_method: 'http' }],
  ])('%s needs a product that takes it', (_method, changes, body) => {
    const products = { dv: product(changes), ev: null };
    expect(refused(() => desired(null, cn, body, { products }))).toMatchObject({
      reason: 'bad_approval_method',
    });
    // One that was made before can still be muted, and get another key.
    const before = created(body);
    expect(desired(before, cn, { muted: true, csr: csrFor(cn) }, { products }).muted).toBe(true);
  });
});

describe('approver_email', () => {
  it.each(['admin', 'administrator', 'hostmaster', 'postmaster', 'webmaster'])('takes %s@', (mailbox) => {
    expect(created({ ...byEmail, approver_email: `${mailbox}@example.com` }).approverEmail).toBe(
      `${mailbox}@example.com`,
    );
  });

  it.each(['', 'somebody@example.com', 'admin@example.org', 'admin@com', 'admin', 'ad\u212ain@example.com'])(
    'refuses %j',
    (approver_email) => {
      expect(whyNot({ ...byEmail, approver_email })).toEqual(['bad_approver_email', 'approver_email']);
    },
  );

  it('must be able to approve the name that default SANs add, too', () => {
    const approver_email = `admin@${cn}`;
    expect(whyNot({ ...byEmail, approver_email })).toEqual(['bad_approver_email', 'approver_email']);
    expect(created({ ...byEmail, approver_email, sans: [] }).approverEmail).toBe(approver_email);
  });

  it('is ignored with another method than email, whatever it is', () => {
    for (const approver_email of ['admin@example.com', 'somebody@example.org', ''])
      for (const approval_method of ['dns', 'http'])
        expect(created({ ...byDns, approval_method, approver_email, sans: [] })).toMatchObject({
          approvalMethod: approval_method,
          approverEmail: null,
        });
    expect(desired(created(), cn, { approver_email: 'admin@example.com' }).approverEmail).toBeNull();
  });

  it('may be sent along when email is left, as clients do', () => {
    const changes = { approval_method: 'dns', approver_email: 'admin@example.com' };
    expect(desired(created(byEmail), cn, changes)).toMatchObject({
      approvalMethod: 'dns',
      approverEmail: null,
    });
  });
});

describe('type', () => {
  it.each(['', 'DV', 'ov', 'constructor'])('refuses %j', (type) => {
    expect(whyNot({ ...byDns, type })).toEqual(['bad_type', 'type']);
  });

  it('needs a product that is sold; what is no longer sold can still be changed', () => {
    for (const ev of [null, product({ available: false })]) {
      const facts = { products: { dv: product(), ev } };
      expect(refused(() => desired(null, cn, { ...byDns, type: 'ev' }, facts))).toMatchObject({
        reason: 'bad_type',
      });
      expect(refused(() => desired(created(), cn, { type: 'ev' }, facts))).toMatchObject({
        reason: 'bad_type',
      });
    }
    const gone = { products: { dv: product({ available: false }), ev: null } };
    expect(desired(created(), cn, { sans: [] }, gone).sans).toEqual([]);
  });
});

describe('sans', () => {
  it('are kept in normal form, without what is read-only in them', () => {
    const sans = [
      {
        ...san('WWW.Bücher.example.com.'),
        http_approval: {},
        dns_approval: { options: [{ name: 'x' }] },
        approver_email: null,
        more: 1,
      },
      san('*.example.org', { approval_method: 'email', approver_email: 'ADMIN@example.org' }),
    ];
    expect(created({ ...byDns, sans }).sans).toEqual([
      { value: 'www.xn--bcher-kva.example.com', approvalMethod: 'dns', approverEmail: null },
      { value: '*.example.org', approvalMethod: 'email', approverEmail: 'admin@example.org' },
    ]);
  });

  it.each([
    ['an object', {}],
    ['a flag', true],
    ['a number', 0],
    ['an empty text', ''],
    ['a text that is no JSON', 'a.example.com'],
    ['texts', ['a.example.com']],
    ['null in it', [null]],
    ['an array in it', [[]]],
    ['no value', [{ approval_method: 'dns' }]],
    ['a number for a value', [san(5 as never)]],
    ['another type', [{ ...san('a.example.com'), type: 'ip' }]],
    ['an address', [san('192.0.2.1')]],
    ['a public suffix', [san('co.uk')]],
    ['a NUL', [san('a\0.example.com')]],
    ['half a surrogate pair', [san('\ud800.example.com')]],
    ['the common name', [san('WWW.example.com')]],
    ['a name twice', [san('a.example.com'), san('A.example.com.')]],
    [
      'a name twice, approved in different ways',
      [san('a.example.com'), san('a.example.com', { approval_method: 'http' })],
    ],
    ['a hundred', Array.from({ length: 100 }, (_, at) => san(`n${at}.example.com`))],
    ['a hundred thousand', Array(100_000).fill(san('a.example.com'))],
  ])('refuse %s', (_what, sans) => {
    expect(whyNot({ ...byDns, sans })).toEqual(['bad_sans', 'sans']);
  });

  it.each([
    ['no method', {}, 'bad_approval_method'],
    ['an unknown method', { approval_method: 'ftp' }, 'bad_approval_method'],
    ['email without an address', { approval_method: 'email' }, 'bad_approver_email'],
    [
      'email with an address of somebody else',
      { approval_method: 'email', approver_email: 'admin@example.org' },
      'bad_approver_email',
    ],
    ['an address that is no text', { approval_method: 'email', approver_email: 5 }, 'bad_approver_email'],
  ])('refuse %s', (_what, more, reason) => {
    expect(whyNot({ ...byDns, sans: [san('a.example.com', more)] })).toEqual([reason, 'sans']);
  });

  it.each([
    ['no object', 5, 'must be an object with value and approval_method.'],
    ['no value', { approval_method: 'dns' }, 'value is required.'],
    ['no method', { value: 'b.example.com' }, 'approval_method must be email, http or dns.'],
    [
      'no address',
      san('b.example.com', { approval_method: 'email' }),
      'The approval method email needs an approver_email.',
    ],
    ['a bad name', san('co.uk'), '"co.uk" cannot be certified'],
  ])('are refused with the position of the one with %s', (_what, bad, message) => {
    const { message: shown } = refused(() => created({ ...byDns, sans: [san('a.example.com'), bad] }));
    expect(shown).toContain(`sans[1]: ${message}`);
  });

  it.each(['admin@example.com', 'somebody@example.org', 5, {}])(
    'ignore the address %j with another method than email',
    (approver_email) => {
      const sans = [san('a.example.com', { approval_method: 'dns', approver_email })];
      expect(created({ ...byDns, sans }).sans).toEqual([
        { value: 'a.example.com', approvalMethod: 'dns', approverEmail: null },
      ]);
    },
  );

  it('are no more than the product takes, the common name included', () => {
    const products = { dv: product({ maxDnsNames: 2 }), ev: null };
    const sans = [san('a.example.com'), san('b.example.com')];
    expect(desired(null, cn, { ...byDns, sans: sans.slice(1) }, { products }).sans).toHaveLength(1);
    expect(refused(() => desired(null, cn, { ...byDns, sans }, { products }))).toMatchObject({
      reason: 'bad_sans',
      param: 'sans',
    });
  });

  it('by default add no name that cannot exist', () => {
    const name = 'www.co.uk';
    const body = { csr: csrFor(name), approval_method: 'dns' };
    expect(whyNot(body, null, name)).toEqual(['bad_sans', 'sans']);
    expect(created({ ...body, sans: [] }, name).sans).toEqual([]);
  });
});

describe('tags', () => {
  const before = created({ ...byDns, tags: ['b', 'a'] });
  const tagsOf = (body: object) => desired(before, cn, body).tags;

  it('keep their order, each once', () => {
    expect(created({ ...byDns, tags: ['z', 'a', 'z', 'ä 😀'] }).tags).toEqual(['z', 'a', 'ä 😀']);
  });

  it('are added and removed by their names, on top of the list', () => {
    expect(tagsOf({ 'tags.c': '1' })).toEqual(['b', 'a', 'c']);
    expect(tagsOf({ 'tags.b': 0, 'tags.none': false })).toEqual(['a']);
    expect(tagsOf({ 'tags.a': 1 })).toEqual(['b', 'a']);
    expect(tagsOf({ tags: '["x"]', 'tags.y': true, 'tags.x': '0' })).toEqual(['y']);
    expect(tagsOf({ 'tags.__proto__x': '1', 'tags.a.b': '1' })).toEqual(['b', 'a', '__proto__x', 'a.b']);
  });

  it.each([
    ['a text that is no JSON', { tags: 'a' }, 'tags'],
    ['an object', { tags: {} }, 'tags'],
    ['the text null', { tags: 'null' }, 'tags'],
    ['numbers', { tags: [1] }, 'tags'],
    ['an empty one', { tags: [''] }, 'tags'],
    ['a long one', { tags: ['x'.repeat(101)] }, 'tags'],
    ['control characters', { tags: ['a\nb'] }, 'tags'],
    ['too many', { tags: Array.from({ length: maxTags + 1 }, (_, at) => `t${at}`) }, 'tags'],
    [
      'too many by name',
      Object.fromEntries(Array.from({ length: 49 }, (_, at) => [`tags.t${at}`, '1'])),
      'tags',
    ],
    ['an empty name', { 'tags.': '1' }, 'tags.'],
    ['a long name', { [`tags.${'x'.repeat(500)}`]: '1' }, `tags.${'x'.repeat(95)}`],
  ])('refuse %s', (_what, body, param) => {
    expect(whyNot(body, before)).toEqual(['bad_tags', param]);
  });

  it('stay as they are with null in JSON, as with every argument but sans', () => {
    expect(tagsOf({ tags: null })).toEqual(['b', 'a']);
    expect(tagsOf({ tags: null, 'tags.c': '1' })).toEqual(['b', 'a', 'c']);
  });

  it('by name take 1 and 0 alone', () => {
    expect(whyNot({ 'tags.a': 'x' }, before)).toEqual(['bad_param', 'tags.a']);
  });
});
