import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AddressGuard } from '@certwright/outbound';
import type { CallApi } from './call-api';
import { customerCall } from './customer-call';
import { platformCall } from './platform-call';

let server: Server | undefined;
let connections = 0;
const serve = async (listener: RequestListener): Promise<string> => {
  connections = 0;
  server = createServer(listener).on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
};
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve)));
  server = undefined;
});

const never = new AbortController().signal;
const bounds = { timeoutMs: 20_000, maxBytes: 1_000 };
const allowed = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'] });
const get = (url: string) => ({ method: 'GET', url, headers: {} }) as const;

describe.each<readonly [string, (within: typeof bounds) => CallApi]>([
  ['platformCall', (within) => platformCall(within)],
  ['customerCall', (within) => customerCall(allowed, within)],
])('%s', (_, callWithin) => {
  const call = callWithin(bounds);

  it('sends the request and returns the whole response', async () => {
    const url = await serve((request, response) => {
      request.on('data', (chunk: Buffer) => {
        response
          .writeHead(201, { 'X-Request': `${request.method} ${request.headers['x-key']}` })
          .end(`got ${chunk}`);
      });
    });
    const result = await call({ method: 'POST', url, headers: { 'x-key': 'k' }, body: 'hello é' }, never);
    expect(result).toMatchObject({ status: 201, text: 'got hello é', headers: { 'x-request': 'POST k' } });
  });

  it('follows no redirect', async () => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests += 1;
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    const result = await call(get(url), never).catch((error: unknown) => error);
    expect(result).not.toMatchObject({ status: 200 });
    expect(requests).toBe(1);
  });

  it.each([
    [
      'is too long',
      (_request: unknown, response: { end(text: string): void }) => response.end('x'.repeat(2_000)),
    ],
    [
      'breaks off',
      (_request: unknown, response: { write(text: string): void; destroy(): void; flushHeaders(): void }) => {
        response.write('x');
        setImmediate(() => response.destroy());
      },
    ],
  ])('a response that %s is unavailable', async (_how, listener) => {
    const url = await serve(listener as RequestListener);
    await expect(call(get(url), never)).rejects.toMatchObject({ name: 'ProviderFault', kind: 'unavailable' });
  });

  it('a response that never arrives is unavailable', async () => {
    const url = await serve(() => undefined);
    const impatient = callWithin({ ...bounds, timeoutMs: 100 });
    await expect(impatient(get(url), never)).rejects.toMatchObject({
      name: 'ProviderFault',
      kind: 'unavailable',
    });
  });

  it('a closed port is unavailable', async () => {
    const url = await serve(() => undefined);
    await new Promise((resolve) => server?.close(resolve));
    await expect(call(get(url), never)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it("gives up with the signal's reason", async () => {
    const controller = new AbortController();
    const reason = new Error('too late');
    const url = await serve(() => controller.abort(reason));
    await expect(call(get(url), controller.signal)).rejects.toBe(reason);
  });

  it('a header that cannot be sent is an error without its text', async () => {
    const url = await serve((_request, response) => void response.end());
    const error = await call({ ...get(url), headers: { 'x-key': 'secret\nx: y' } }, never).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ name: 'ProviderFault' });
    expect(
      `${(error as Error).message} ${(error as Error).stack} ${String((error as Error).cause)}`,
    ).not.toContain('secret');
  });
});

it('platformCall reuses its connections', async () => {
  const url = await serve((_request, response) => void response.end('{}'));
  const call = platformCall(bounds);
  for (let at = 0; at < 8; at += 1) await call(get(url), never);
  // A second connection may be opened while the first is just being released.
  expect(connections).toBeLessThanOrEqual(2);
});

it('customerCall connects to no internal address', async () => {
  const url = await serve((_request, response) => void response.end('{}'));
  const call = customerCall(new AddressGuard({ allowedNetworks: [] }), bounds);
  await expect(call(get(url), never)).rejects.toMatchObject({ kind: 'rejected' });
  expect(connections).toBe(0);
});
