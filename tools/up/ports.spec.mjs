import dgram from 'node:dgram';
import net from 'node:net';
import { apps } from './apps.mjs';
import { assignPorts, freeOffset, wantedPorts } from './ports.mjs';

const everything = wantedPorts(apps, ['postgres', 'redis']);
let offset;
const opened = [];

beforeAll(async () => {
  // Below the ports that the kernel gives to clients, and not those of specs that start the whole system.
  offset = await freeOffset(everything, 20_000 + 100 * Math.floor(Math.random() * 50));
});
afterEach(async () => {
  for (const socket of opened.splice(0)) await new Promise((resolve) => socket.close(resolve));
});

async function listen(port) {
  const server = net.createServer();
  opened.push(server);
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
}
async function bind(port) {
  const socket = dgram.createSocket('udp4');
  opened.push(socket);
  await new Promise((resolve, reject) => socket.once('error', reject).bind(port, '127.0.0.1', resolve));
}

it('assigns different ports to all processes and stores', () => {
  expect(new Set(everything.map(({ port }) => port)).size).toBe(everything.length);
});

it('adds the offset to every port', async () => {
  const port = await assignPorts(everything, String(offset));
  expect([port('orders-v3', 'http'), port('demo-dns', 'dns'), port('postgres', 'tcp')]).toEqual([
    4310 + offset,
    4353 + offset,
    4390 + offset,
  ]);
  expect(() => port('orders-v3', 'smtp')).toThrow('orders-v3 has no port "smtp".');
});

it('lists every port in use with its process, and a working PORT_OFFSET', async () => {
  await listen(4310 + offset);
  await bind(4332 + offset);
  await listen(4391 + offset);
  const message = await assignPorts(everything, String(offset)).catch((error) => error.message);
  expect(message.split('\n').slice(0, -1)).toEqual([
    'npm start needs these ports on 127.0.0.1, but other programs use them:',
    `  ${4310 + offset}  orders-v3 (http)`,
    `  ${4332 + offset}  approval-responder (dns)`,
    `  ${4391 + offset}  redis (tcp)`,
  ]);
  const [, hint] = /PORT_OFFSET=(\d+) npm start$/.exec(message);
  expect((await assignPorts(everything, hint))('orders-v3', 'http')).toBe(4310 + Number(hint));
});

it('refuses an offset with a port that browsers and fetch block, and suggests none', async () => {
  const message = await assignPorts(everything, '700').catch((error) => error.message);
  expect(message).toMatch(
    /^PORT_OFFSET is "700"; browsers and fetch block these of its ports: 5060 \(mailbox web\), 5061 \(mailbox smtp\)\. Use another one: PORT_OFFSET=\d+ npm start$/,
  );
  expect(await freeOffset(everything, 700)).toBeGreaterThan(700);
});

it('does not need the port of a store that does not run here', async () => {
  await listen(4390 + offset);
  const port = await assignPorts(wantedPorts(apps, ['redis']), String(offset));
  expect(port('redis', 'tcp')).toBe(4391 + offset);
});

it.each(['-100', '1.5', 'some', '', '61141', '99999'])('refuses %j as PORT_OFFSET', async (setting) => {
  await expect(assignPorts(everything, setting)).rejects.toThrow(
    `PORT_OFFSET is "${setting}"; set it to a whole number from 0 to 61140.`,
  );
});
