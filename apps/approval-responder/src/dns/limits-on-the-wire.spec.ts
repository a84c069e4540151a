import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '@certwright/testing';
import { queryTcp, queryUdp, datagram, queryMessage, seen } from '../testing/dns-queries';
import { DnsCopies, zone } from '../testing/dns-copies';

const tenant = '1000000000001';
let copies: DnsCopies;

beforeAll(async () => {
  copies = await DnsCopies.open();
});
afterAll(async () => await copies.close());

it('beyond the limit every second UDP query gets TC alone, and TCP queries are answered', async () => {
  const { port, metrics } = await copies.copy({ DNS_ANSWERS_PER_S: '5' });
  const message = queryMessage(zone, { type: 'SOA', edns: 1232 });
  const received = await Promise.all(
    Array.from({ length: 60 }, async () => await datagram(port, message, '127.0.0.1', 500)),
  );
  const answers = received.filter((response) => response !== undefined).map(seen);
  const truncated = answers.filter((response) => response.truncated);
  expect(answers.length - truncated.length).toBeGreaterThanOrEqual(10);
  expect(answers.length - truncated.length).toBeLessThan(16);
  expect(truncated.length).toBeGreaterThan(20);
  for (const response of truncated) {
    expect(response).toMatchObject({
      rcode: 'NOERROR',
      answers: [],
      authority: [],
      question: zone,
    });
    expect(response.bytes).toBeLessThanOrEqual(message.length);
  }
  expect(await queryTcp(port, zone, { type: 'SOA' })).toMatchObject({
    rcode: 'NOERROR',
    truncated: false,
  });
  const counted = await metrics.render();
  expect(counted).toMatch(/dns_limited_total\{as="drop",[^}]*\} [1-9]/);
  const whole = answers.length - truncated.length;
  expect(counted).toMatch(
    new RegExp(`dns_questions_total\\{rcode="noerror",transport="udp",[^}]*\\} ${whole}\n`),
  );
  await eventually(async () => expect((await queryUdp(port, zone, { type: 'SOA' })).truncated).toBe(false));
});

it('a network with no share left is answered over TCP, with any number of other open connections', async () => {
  const { port } = await copies.copy({ DNS_ANSWERS_PER_S: '1' });
  const query = queryMessage(zone, { type: 'SOA' });
  for (let count = 0; count < 4; count += 1) await datagram(port, query, '127.0.0.1', 20);
  const held = await Promise.all(
    Array.from({ length: 700 }, async () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.7' });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    }),
  );
  expect(await queryTcp(port, zone, { type: 'SOA' })).toMatchObject({ rcode: 'NOERROR', truncated: false });
  for (const socket of held) socket.destroy();
});

it('no datagram is more than ten times as long as its query', async () => {
  const { port } = await copies.copy();
  const dnsName = 'a.example.com';
  const label = await copies.delegation(tenant, dnsName);
  // A short query with many values: the best case for an attacker.
  for (let count = 0; count < 8; count += 1) await copies.publish(tenant, dnsName, label);
  const question = queryMessage(`_acme-challenge.${dnsName}`, { edns: 4096 });
  const whole = await queryTcp(port, `_acme-challenge.${dnsName}`);
  expect(whole.answers).toHaveLength(8);
  expect(whole.bytes).toBeLessThan(1232);
  expect(whole.bytes).toBeGreaterThan(question.length * 10);
  expect(await queryUdp(port, `_acme-challenge.${dnsName}`, { edns: 4096 })).toMatchObject({
    truncated: true,
    answers: [],
  });
});
