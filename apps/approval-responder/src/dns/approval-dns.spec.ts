import { randomBytes } from 'node:crypto';
import { RCODE } from '@certwright/dns-authority';
import { queryTcp, queryUdp, datagram, flood, queryMessage } from '../testing/dns-queries';
import { DnsCopies, type DnsCopy, zone } from '../testing/dns-copies';

const [tenantA, tenantB] = ['1000000000001', '1000000000002'];
const dnsName = 'www.example.com';

let copies: DnsCopies;
let one: DnsCopy;
let other: DnsCopy;
let label: string;
let value: string;

beforeAll(async () => {
  copies = await DnsCopies.open();
  [one, other] = [await copies.copy(), await copies.copy()];
  label = await copies.delegation(tenantA, dnsName);
  value = await copies.publish(tenantA, dnsName, label);
});
afterAll(async () => await copies.close());

const query = async (name: string, type = 'TXT') => await queryUdp(one.port, name, { type });
const soaOf = (name: string) => [`${name} SOA 5`];

describe('the approval zone', () => {
  it('has SOA and NS at its apex, the same in every copy', async () => {
    const soa = await query(zone, 'SOA');
    expect(soa).toMatchObject({ rcode: 'NOERROR', authoritative: true, answers: [`SOA ns1.${zone}`] });
    const servers = ['NS ns1.approval.example.net', 'NS ns2.other.example'];
    expect((await query(zone, 'NS')).answers).toEqual(servers);
    const [first, second] = await Promise.all(
      [one, other].map(async ({ port }) => await datagram(port, queryMessage(zone, { type: 'SOA' }))),
    );
    expect(first).toEqual(second);
  });

  it('has addresses for its in-zone name servers', async () => {
    expect((await query(`ns1.${zone}`, 'A')).answers).toEqual(['A 127.0.0.1']);
    expect((await query(`ns1.${zone}`, 'AAAA')).answers).toEqual(['AAAA 2001:db8::1']);
    expect(await query(`ns1.${zone}`)).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });

  it('returns the values at a standing record’s target authoritatively, in the case of the query', async () => {
    const name = `${label}.${zone}`.replace(/[aeiou]/g, (letter) => letter.toUpperCase());
    for (const { port } of [one, other]) {
      const expected = { rcode: 'NOERROR', authoritative: true, answers: [`TXT ${value}`], question: name };
      expect(await queryUdp(port, name)).toMatchObject(expected);
      expect(await queryTcp(port, name)).toMatchObject(expected);
    }
  });

  it('has addresses at a target, which NS records may point to', async () => {
    expect((await query(`${label}.${zone}`, 'A')).answers).toEqual(['A 127.0.0.1', 'A 127.0.0.2']);
    expect((await query(`${label}.${zone}`, 'AAAA')).answers).toEqual(['AAAA 2001:db8::1']);
  });

  it('returns NODATA for a target without values, and for other types, CAA among them', async () => {
    const empty = await copies.delegation(tenantA, 'empty.example.com');
    for (const [name, type] of [
      [empty, 'TXT'],
      [label, 'CAA'],
      [label, 'MX'],
    ] as const) {
      const expected = { rcode: 'NOERROR', authoritative: true, answers: [], authority: soaOf(zone) };
      expect(await query(`${name}.${zone}`, type)).toMatchObject(expected);
    }
  });

  it.each([
    ['an unissued label', 'b'.repeat(32)],
    ['a label of another shape', 'www'],
    ['an underscored one', '_acme-challenge'],
    ['a name below a target', 'x.LABEL'],
    ['two labels', `${'b'.repeat(32)}.${'c'.repeat(32)}`],
  ])('returns NXDOMAIN for %s', async (_, given) => {
    const expected = { rcode: 'NXDOMAIN', authoritative: true, answers: [], authority: soaOf(zone) };
    expect(await query(`${given.replace('LABEL', label)}.${zone}`)).toMatchObject(expected);
  });

  it('returns NXDOMAIN for a retired target, and values again once it is required', async () => {
    const retired = await copies.delegation(tenantA, 'retired.example.com');
    const name = `${retired}.${zone}`;
    await copies.retire(retired);
    await copies.publish(tenantA, 'retired.example.com', retired);
    expect(await query(name)).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
    expect(await query(name, 'A')).toMatchObject({ rcode: 'NXDOMAIN' });
    await copies.database.query(`UPDATE delegation SET retired_at = NULL WHERE label = $1`, [retired]);
    await copies.flushRedis();
    expect((await query(name)).answers).toHaveLength(1);
  });

  it('shows a new value at once, in every copy, even right after there was none', async () => {
    const fresh = await copies.delegation(tenantA, 'fresh.example.com');
    const name = `${fresh}.${zone}`;
    for (const { port } of [one, other]) expect((await queryUdp(port, name)).answers).toEqual([]);
    const values = [await copies.publish(tenantA, 'fresh.example.com', fresh)];
    for (const { port } of [one, other]) expect((await queryUdp(port, name)).answers).toHaveLength(1);
    values.push(await copies.publish(tenantA, 'fresh.example.com', fresh));
    const expected = values.sort().map((each) => `TXT ${each}`);
    for (const { port } of [one, other]) expect((await queryUdp(port, name)).answers).toEqual(expected);
  });

  it('no longer returns an expired value', async () => {
    const fading = await copies.delegation(tenantA, 'fading.example.com');
    await copies.publish(tenantA, 'fading.example.com', fading);
    await copies.database.query(`UPDATE challenge_record SET expires_at = now() WHERE label = $1`, [fading]);
    expect(await query(`${fading}.${zone}`)).toMatchObject({ rcode: 'NOERROR', answers: [] });
  });
});

describe('a name that a customer delegated to us', () => {
  const delegated = `_acme-challenge.${dnsName}`;

  it('is a separate zone, with values for the name', async () => {
    const expected = { rcode: 'NOERROR', authoritative: true };
    expect(await query(delegated)).toMatchObject({ ...expected, answers: [`TXT ${value}`] });
    expect(await query(delegated, 'SOA')).toMatchObject({ ...expected, answers: [`SOA ns1.${zone}`] });
    for (const type of ['CAA', 'A', 'MX']) {
      const nothing = { ...expected, answers: [], authority: soaOf(delegated) };
      expect(await query(delegated, type)).toMatchObject(nothing);
    }
    const below = { rcode: 'NXDOMAIN', authority: soaOf(delegated) };
    expect(await query(`x.${delegated}`)).toMatchObject(below);
  });

  it('does not reveal an account’s label: its NS records use our servers’ own names', async () => {
    expect((await query(delegated, 'NS')).answers).toEqual([`NS ns1.${zone}`, 'NS ns2.other.example']);
  });

  it('returns no values of a tenant whose own delegation was never seen', async () => {
    const labelB = await copies.delegation(tenantB, dnsName);
    expect(await query(`${labelB}.${zone}`)).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect((await query(delegated)).answers).toEqual([`TXT ${value}`]);
    expect((await query(`${label}.${zone}`)).answers).toEqual([`TXT ${value}`]);
  });

  it.each([
    ['a name of no order', '_acme-challenge.unknown.example.com'],
    ['the name itself', dnsName],
    ['a name above', 'example.com'],
    ['the root', '.'],
    ['a single label', '_acme-challenge.com'],
    ['a name with underscores', '_acme-challenge._x.example.com'],
    ['another zone', `${'b'.repeat(32)}.other.example.net`],
    ['a zone that only ends alike', `x${zone}`],
  ])('is refused when it is %s', async (_, name) => {
    expect(await query(name)).toMatchObject({ rcode: 'REFUSED', authoritative: false, answers: [] });
  });
});

describe('refused queries', () => {
  it.each(['AXFR', 'IXFR'])('refuses %s, over UDP and TCP', async (type) => {
    for (const send of [queryUdp, queryTcp]) {
      expect(await send(one.port, zone, { type })).toMatchObject({ rcode: 'REFUSED', answers: [] });
    }
  });

  it('refuses class CH, which would reveal the server version', async () => {
    expect(await queryUdp(one.port, 'version.bind', { class: 'CH' })).toMatchObject({ rcode: 'REFUSED' });
  });

  it('answers ANY with one small record', async () => {
    const { answers, bytes } = await query(`${label}.${zone}`, 'ANY');
    expect(answers).toEqual([expect.stringMatching(/^HINFO .*RFC8482/)]);
    expect(bytes).toBeLessThan(200);
  });
});

describe('a response that does not fit a datagram', () => {
  it('is truncated over UDP and complete over TCP; no datagram exceeds 1232 bytes', async () => {
    const many = await copies.delegation(tenantA, 'many.example.com');
    for (let count = 0; count < 15; count += 1) await copies.publish(tenantA, 'many.example.com', many);
    for (const edns of [undefined, 512, 1232, 4096, 65_535]) {
      const response = await queryUdp(one.port, `${many}.${zone}`, edns === undefined ? {} : { edns });
      expect(response).toMatchObject({ truncated: true, answers: [] });
      expect(response.bytes).toBeLessThanOrEqual(1232);
    }
    expect((await queryTcp(one.port, `${many}.${zone}`)).answers).toHaveLength(15);
  });
});

describe('arbitrary input', () => {
  it('does not stop the server', async () => {
    const whole = queryMessage(`${label}.${zone}`, { edns: 1232 });
    const messages: Buffer[] = [];
    for (let length = 0; length < whole.length; length += 1) messages.push(whole.subarray(0, length));
    for (let count = 0; count < 400; count += 1) {
      const broken = Buffer.from(whole);
      for (const byte of randomBytes(1 + (count % 4))) broken[byte % broken.length] = randomBytes(1)[0] ?? 0;
      messages.push(broken, randomBytes(1 + (count % 120)));
    }
    for (const message of messages) {
      // Responses and incomplete headers are not answered, so the test does not wait for them.
      await datagram(one.port, message, '127.0.0.1', 2);
    }
    expect((await query(`${label}.${zone}`)).answers).toEqual([`TXT ${value}`]);
  });
});

describe('a flood of made-up labels', () => {
  const made = () =>
    [...randomBytes(32)].map((byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('');

  it('gets NXDOMAIN or SERVFAIL, while values in Redis are still returned', async () => {
    const { port, remembered } = await copies.copy({ DNS_LOOKUPS: '1' });
    expect((await query(`${label}.${zone}`)).answers).toEqual([`TXT ${value}`]);
    await remembered(`${label}.${zone}`);
    // At most as many at once as a socket of the kernel's default size holds.
    const messages = Array.from({ length: 150 }, () => queryMessage(`${made()}.${zone}`));
    const flooding = flood(port, messages, 3_000);
    const known = await queryUdp(port, `${label}.${zone}`);
    expect(known.answers).toEqual([`TXT ${value}`]);
    const rcodes = await flooding;
    expect(rcodes.length).toBeGreaterThan(0);
    for (const rcode of rcodes) expect([RCODE.NXDOMAIN, RCODE.SERVFAIL]).toContain(rcode);
    expect(await queryUdp(port, `${made()}.${zone}`)).toMatchObject({ rcode: 'NXDOMAIN' });
  });
});

it('counts questions by response code and transport, and times look-ups and complete responses', async () => {
  const metrics = await one.metrics.render();
  expect(metrics).toMatch(/dns_questions_total\{rcode="refused",transport="udp",[^}]*\} [1-9]/);
  expect(metrics).toMatch(/dns_questions_total\{rcode="noerror",transport="tcp",[^}]*\} [1-9]/);
  expect(metrics).toMatch(/dns_answer_duration_seconds_count\{[^}]*transport="udp"[^}]*\} [1-9]/);
  expect(metrics).toMatch(/dns_answer_duration_seconds_count\{[^}]*transport="tcp"[^}]*\} [1-9]/);
  expect(metrics).toMatch(/dns_lookup_duration_seconds_count\{[^}]*source="redis"[^}]*\} [1-9]/);
  expect(metrics).toMatch(/dns_lookup_duration_seconds_count\{[^}]*source="database"[^}]*\} [1-9]/);
});
