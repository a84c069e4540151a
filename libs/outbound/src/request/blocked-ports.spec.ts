import { AddressGuard } from '../addresses/address-guard';
import { serveHttp } from '../testing/web-server';
import { portRefusal } from './blocked-ports';
import { guardedRequest, type GuardedRequest } from './guarded-request';

// Nothing is looked up or connected to for a port that is refused: no address is allowed here.
const guard = new AddressGuard({ allowedNetworks: [] });
const get = (url: string, more: Partial<GuardedRequest> = {}, by = guard) =>
  guardedRequest(by, { url, method: 'GET', timeoutMs: 5_000, maxResponseBytes: 1_000, ...more });

const blocked = Array.from({ length: 65_536 }, (_, port) => port).filter(
  (port) => portRefusal(port) !== null,
);

it.each([
  ['http://127.0.0.1:25/', 25],
  ['https://127.0.0.1:22/', 22],
  ['http://127.0.0.1:0069/', 69],
  ['https://user:p@127.0.0.1:6679/a?b', 6679],
  ['https://127.0.0.1:80/', null],
  ['http://127.0.0.1:443/', null],
  ['http://127.0.0.1:8080/', null],
])('%s: a request to it is refused for port %s', async (url, port) => {
  await expect(get(url)).rejects.toMatchObject(
    port === null
      ? { kind: 'refused_address' }
      : { kind: 'bad_url', message: expect.stringMatching(`^Port ${port} `) as string },
  );
});

it('a port that the operator allows is connected to', async () => {
  const allowed = { allowedPorts: [80, 6000] };
  await expect(get('http://127.0.0.1:6000/', allowed)).rejects.toMatchObject({ kind: 'refused_address' });
});

it('the ports of web servers and every port that a server is given by the system are open', async () => {
  for (const port of [80, 443, 3000, 8000, 8080, 8443, 9443]) expect(portRefusal(port)).toBeNull();
  expect(blocked.filter((port) => port > 10_080)).toEqual([]);
  const server = await serveHttp((_, response) => response.end('here'));
  const url = `http://127.0.0.1:${server.port}/`;
  const loopback = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'] });
  expect((await get(url, {}, loopback)).body.toString()).toBe('here');
  await server.close();
});

it('the ports are those that fetch refuses', async () => {
  const causes = await Promise.all(
    blocked.slice(1).map(async (port) => {
      const error: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((each: unknown) => each);
      return String((error as Error).cause);
    }),
  );
  expect(new Set(causes)).toEqual(new Set(['Error: bad port']));
  expect(blocked).toHaveLength(82 + 1);
});
