import { Agent } from 'node:https';
import { pastedKeyIn, pastedKeyRequests } from '@certwright/testing';
import { GatewayAtDesec, owner } from './testing/gateway-at-desec';
import { keptDocument, type RunningGateway } from './testing/running-gateway';

// The test sends thousands of requests.
jest.setTimeout(300_000);

const record = { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'A'.repeat(43) };
/** A TLS handshake for each request would take most of the time. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const credentials = { type: 'bearer', token: 'a-token' };

let world: GatewayAtDesec;
let gateway: RunningGateway;

beforeAll(async () => {
  world = await GatewayAtDesec.start();
  ({ gateway } = world);
}, 30_000);
afterAll(async () => {
  agent.destroy();
  await world.close();
});

it('no response, log line or audit entry contains a private key that was pasted anywhere', async () => {
  const integrated = await world.integrated();
  const requests = pastedKeyRequests(keptDocument, {
    bodies: {
      'post /make_integration': { ...owner, credentials },
      'post /get_zones': integrated,
      'post /add_record': { ...integrated, record },
      'post /remove_record': { ...integrated, record_handle: 'cwr1.x' },
    },
  });
  const leaks: string[] = [];
  for (const { what, method, path: at, body, headers } of requests) {
    const {
      status,
      body: response,
      headers: responseHeaders,
    } = await gateway.request({ method, path: at, headers, agent }, body);
    const text = JSON.stringify(response);
    const piece = pastedKeyIn(text) ?? pastedKeyIn(JSON.stringify(responseHeaders));
    if (piece !== null || status === 500) leaks.push(`${status} ${what}: ${text}`);
  }
  expect(requests.length).toBeGreaterThan(300);
  expect(leaks).toEqual([]);
  expect(pastedKeyIn(gateway.output())).toBeNull();
  expect(pastedKeyIn(gateway.audit())).toBeNull();
});
