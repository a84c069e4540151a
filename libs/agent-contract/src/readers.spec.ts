import { agentId, newIdentityKey, rawPublicKey } from './keys';
import { encodeBase64url } from './base64url';
import { agentPaths, type OrderMessage } from './messages';
import { readCertificate, readEnrolled, readError, readMembers, readSealedKeys, readState } from './readers';

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
const refused = (message: string | RegExp) =>
  expect.objectContaining({ message: expect.stringMatching(message) });

const hash = 'ab'.repeat(32);
const key = encodeBase64url(rawPublicKey(newIdentityKey()));
const id = agentId(Buffer.from(key, 'base64url'));

const order: OrderMessage = {
  name: 'www.example.com',
  version: 810,
  revision: 3,
  dns_names: ['www.example.com', '*.example.com', 'xn--bcher-kva.example'],
  key_type: 'ecdsa',
  accepts: { rsa: [2048], ecdsa: ['P-256', 'P-384'] },
  paused: false,
  csr_spki_sha256: null,
  certificate: {
    sha256: hash,
    spki_sha256: hash,
    not_before: '2026-11-24T12:00:00Z',
    not_after: '2027-02-22T12:00:00.000Z',
  },
  install: 'go',
  tasks: [
    { type: 'make_key', id: '123', until: '2026-11-24T12:01:00Z' },
    { type: 'seal_key_for', spki_sha256: hash, members: [id] },
  ],
};
const state = {
  version: 812,
  more: false,
  reset: false,
  cluster: { name: 'web', cluster_key: key },
  members_version: 4,
  orders: [order],
  released: ['old.example.com'],
};
const withOrder = (over: object) => bytes({ ...state, orders: [{ ...order, ...over }] });

describe('the state', () => {
  it('is read, with or without "reset"', () => {
    expect(readState(bytes(state))).toEqual(state);
    expect(readState(bytes({ ...state, reset: undefined }))).toEqual(state);
    expect(readState(bytes({ ...state, reset: true, orders: [] }))).toMatchObject({ reset: true });
  });

  it('drops members and tasks that a later protocol adds', () => {
    const later = {
      ...state,
      command: 'reboot',
      orders: [
        { ...order, path: '/etc/passwd', tasks: [{ type: 'run', command: 'reboot' }, ...order.tasks] },
      ],
    };
    expect(readState(bytes(later))).toEqual(state);
  });

  it('takes a name with slashes, which orderFolder makes harmless, and none with control characters', () => {
    const [read] = readState(withOrder({ name: '../../etc/cron.d/x' })).orders;
    expect(read?.name).toBe('../../etc/cron.d/x');
    for (const name of ['a\nb', 'a\u0000b', '', 'a\ud800', 'x'.repeat(256), 7, null])
      expect(() => readState(withOrder({ name }))).toThrow(refused(/^orders\[0\]\.name /));
  });

  it.each<[object, string]>([
    [{ dns_names: ['www.example.com\nevil'] }, 'dns_names\\[0\\] is not a DNS name'],
    [{ dns_names: ['WWW.example.com'] }, 'dns_names\\[0\\] is not a DNS name'],
    [{ dns_names: ['-x.example.com'] }, 'dns_names\\[0\\] is not a DNS name'],
    [{ dns_names: [] }, 'dns_names is empty'],
    [{ dns_names: 'www.example.com' }, 'dns_names is not an array'],
    [{ dns_names: Array(1_001).fill('a.example') }, 'more than 1000'],
    [{ version: -1 }, 'version is not a whole number'],
    [{ version: 1.5 }, 'version is not a whole number'],
    [{ version: '810' }, 'version is not a whole number'],
    [{ version: 813 }, 'ascending order'],
    [{ revision: 2 ** 53 }, 'revision is not a whole number'],
    [{ key_type: 'dsa' }, 'key_type is not one of rsa, ecdsa'],
    [{ accepts: null }, 'accepts is not an object'],
    [{ accepts: { rsa: ['2048'], ecdsa: [] } }, 'accepts.rsa\\[0\\] is not a whole number'],
    [{ paused: 'false' }, 'paused is not true or false'],
    [{ csr_spki_sha256: hash.toUpperCase() }, 'csr_spki_sha256 is not a SHA-256 hash'],
    [{ csr_spki_sha256: `${hash}\n` }, 'csr_spki_sha256 is not a SHA-256 hash'],
    [{ csr_spki_sha256: '../../x' }, 'csr_spki_sha256 is not a SHA-256 hash'],
    [{ certificate: {} }, 'certificate.sha256 is not a SHA-256 hash'],
    [{ certificate: { ...order.certificate, not_after: 'tomorrow' } }, 'not_after is not an RFC 3339 time'],
    [{ certificate: { ...order.certificate, not_after: '2026-13-01T00:00:00Z' } }, 'not an RFC 3339 time'],
    [{ install: 'now' }, 'install is not one of go, hold'],
    [{ tasks: [{ type: 'make_key', id: '1;reboot', until: '2026-11-24T12:01:00Z' }] }, 'id is not an id'],
    [{ tasks: [{ type: 'seal_key_for', spki_sha256: hash, members: ['x'] }] }, 'is not the id of an agent'],
    [{ tasks: [null] }, 'tasks\\[0\\] is not an object'],
    [{ tasks: undefined }, 'tasks is not an array'],
  ])('is refused with an order %j', (over, message) => {
    expect(() => readState(withOrder(over))).toThrow(refused(message));
  });

  it.each<[string, object]>([
    ['more than 200 orders', { orders: Array(201).fill(order) }],
    ['orders in descending order', { orders: [order, { ...order, version: 809 }] }],
    ['orders and a reset', { reset: true }],
    ['a short cluster key', { cluster: { name: 'web', cluster_key: 'AAAA' } }],
    ['released names with line breaks', { released: ['a\n'] }],
  ])('is refused with %s', (_, over) => {
    expect(() => readState(bytes({ ...state, ...over }))).toThrow(refused(/./));
  });
});

describe('a body', () => {
  it.each<[string, Uint8Array, string]>([
    ['of more than a MiB', Buffer.alloc(1024 * 1024 + 1, ' '), 'more than 1048576 bytes'],
    ['that is HTML', bytes('<html>'), 'is not JSON in UTF-8'],
    ['with another encoding', Buffer.from('{"version":"\xff"}', 'latin1'), 'is not JSON in UTF-8'],
    ['with a byte order mark', bytes(`\ufeff${JSON.stringify(state)}`), 'is not JSON in UTF-8'],
    ['with a rest', bytes(`${JSON.stringify(state)}{}`), 'is not JSON in UTF-8'],
    ['that is a list', bytes([]), 'is not an object'],
    ['that is null', bytes('null'), 'is not an object'],
    ['that is too deep', bytes(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), 'more than 16 levels'],
    ['with a repeated member', bytes('{"version":1,"more":false,"version":2}'), 'member "version" twice'],
    ['with a repeated escape', bytes('{"version":1,"ver\\u0073ion":2}'), 'member "version" twice'],
    ['with a repeated inner member', bytes('{"a":{},"b":[{"x":1},{"x":{"y":1,"y":2}}]}'), '"y" twice'],
    ['with "__proto__" twice', bytes('{"__proto__":1,"__proto__":2}'), '"__proto__" twice'],
  ])('%s is refused', (_, body, message) => {
    expect(() => readState(body)).toThrow(refused(message));
  });

  it('may have a member name as a value, and braces and quotes in texts', () => {
    const text = '{"code":"code","message":"code: \\"{[ \\\\","x":{"code":1},"y":{"code":2}}';
    expect(readError(bytes(text))).toEqual({ code: 'code', message: 'code: "{[ \\' });
  });
});

describe('the members', () => {
  const member = { agent_id: id, name: 'web-1', identity_key: key, sealing_key: key, statement: null };

  it('are read', () => {
    expect(readMembers(bytes({ version: 4, members: [member] }))).toEqual({ version: 4, members: [member] });
  });

  it.each<[object, string]>([
    [{ agent_id: 'me' }, 'agent_id is not the id'],
    [{ identity_key: `${key}=` }, 'identity_key'],
    [{ sealing_key: 'AAAA' }, 'sealing_key has fewer than 32 bytes'],
    [{ statement: 'x'.repeat(1_025) }, 'statement is longer than 1024'],
    [{ name: 'x'.repeat(256) }, 'name is longer than 255'],
  ])('are refused with %j', (over, message) => {
    const body = bytes({ version: 4, members: [{ ...member, ...over }] });
    expect(() => readMembers(body)).toThrow(refused(message));
  });

  it('are refused when one is there twice, or there are more than 1,000', () => {
    expect(() => readMembers(bytes({ version: 4, members: [member, member] }))).toThrow(refused('twice'));
    const many = { version: 4, members: Array(1_001).fill(0) };
    expect(() => readMembers(bytes(many))).toThrow(refused('more than 1000'));
  });
});

describe('a certificate', () => {
  const der = Buffer.from('der').toString('base64');

  it('is read with its chain', () => {
    const message = { leaf: der, chain: [der, der], root: der };
    expect(readCertificate(bytes(message))).toEqual(message);
  });

  it.each<[object, string]>([
    [{ leaf: '' }, 'leaf is not base64'],
    [{ leaf: `${der}\n` }, 'leaf is not base64'],
    [{ leaf: 'A'.repeat(90_000) }, 'leaf is not base64 of at most 65536 bytes'],
    [{ chain: Array(21).fill(der) }, 'chain has more than 20 entries'],
    [{ root: null }, 'root is not base64'],
  ])('is refused with %j', (over, message) => {
    const body = bytes({ leaf: der, chain: [], root: der, ...over });
    expect(() => readCertificate(body)).toThrow(refused(message));
  });
});

it('reads the response to an enrolment', () => {
  const enrolled = { agent_id: id, cluster: { name: 'web', cluster_key: null } };
  expect(readEnrolled(bytes(enrolled))).toEqual(enrolled);
});

it('reads sealed keys, and refuses one of another form', () => {
  const sealed = { sender: id, receiver: id, enc: key, ciphertext: 'AAAA', signature: 'A'.repeat(86) };
  expect(readSealedKeys(bytes({ keys: [sealed] }))).toEqual({ keys: [sealed] });
  for (const over of [{ enc: '' }, { ciphertext: '' }, { ciphertext: 'A'.repeat(6_000) }, { signature: 'A' }])
    expect(() => readSealedKeys(bytes({ keys: [{ ...sealed, ...over }] }))).toThrow(refused(/keys\[0\]/));
});

it.each(['<html>502</html>', '{}', '{"code":1,"message":"x"}', ''])('reads no error from %j', (text) => {
  expect(readError(bytes(text))).toBeUndefined();
});

it('reads an error of a field', () => {
  const error = {
    code: 'bad_request',
    message: 'The request is not valid: see csr.',
    sub_errors: [{ field: 'csr', code: 'unsupported_key_size', message: 'Use 2048 bits.' }],
  };
  expect(readError(bytes(error))).toEqual(error);
});

it('writes the name of an order in a path as one segment', () => {
  expect(agentPaths.csr('../a b/ü?x')).toBe('/api/v3/agent/orders/..%2Fa%20b%2F%C3%BC%3Fx/csr');
});
