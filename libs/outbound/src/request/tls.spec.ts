import { eventually, TestRoot } from '@certwright/testing';
import { AddressGuard } from '../addresses/address-guard';
import { NameServer } from '../testing/name-server';
import { serveHttps, serveBytes, type WebServer } from '../testing/web-server';
import { guardedRequest, type GuardedAnswer } from './guarded-request';
import type { TlsTrust } from './connection';

let names: NameServer;
let root: TestRoot;
let guard: AddressGuard;
const opened: WebServer[] = [];
beforeAll(async () => {
  names = await NameServer.open();
  root = new TestRoot();
  guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'], resolvers: [names.address] });
  names.says('www.example.com', ['127.0.0.1']);
  names.says('other.example.com', ['127.0.0.1']);
});
afterAll(async () => {
  for (const server of opened) await server.close();
  root.dispose();
  await names.close();
});

async function serve(dnsName: string, days?: number): Promise<number> {
  const server = await serveHttps(
    root.certify({ names: `DNS:${dnsName}`, days }),
    ({ socket, headers }, response) => {
      const { servername } = socket as unknown as { readonly servername: string | false };
      response.end(JSON.stringify({ servername, host: headers.host }));
    },
  );
  opened.push(server);
  return server.port;
}
const get = (url: string, tls: TlsTrust = { extraRoots: [root.pem] }): Promise<GuardedAnswer> =>
  guardedRequest(guard, { url, method: 'GET', timeoutMs: 20_000, maxResponseBytes: 1_000, tls });

describe('over TLS', () => {
  it('the name is sent as SNI and Host, and the certificate is verified for it', async () => {
    const port = await serve('www.example.com');
    const { body, address } = await get(`https://www.example.com:${port}/`);
    expect(address).toBe('127.0.0.1');
    expect(JSON.parse(body.toString())).toEqual({
      servername: 'www.example.com',
      host: `www.example.com:${port}`,
    });
    const dotted = await get(`https://www.example.com.:${port}/`);
    expect(JSON.parse(dotted.body.toString())).toMatchObject({ servername: 'www.example.com' });
  });

  it('a certificate for another name, an expired one and one of an unknown root are refused with a message', async () => {
    const port = await serve('www.example.com');
    await expect(get(`https://other.example.com:${port}/`)).rejects.toMatchObject({
      kind: 'tls',
      message: `The certificate of other.example.com port ${port} is for another name.`,
    });
    await expect(get(`https://127.0.0.1:${port}/`)).rejects.toMatchObject({ kind: 'tls' });
    await expect(get(`https://www.example.com:${port}/`, {})).rejects.toMatchObject({
      kind: 'tls',
      message: expect.stringContaining('trusted root') as string,
    });
    const expired = await serve('www.example.com', -1);
    await expect(get(`https://www.example.com:${expired}/`)).rejects.toMatchObject({
      kind: 'tls',
      message: `The certificate of www.example.com port ${expired} has expired.`,
    });
  });

  it('every certificate is accepted when it is not to be verified', async () => {
    const expired = await serve('another.example.com', -1);
    expect(await get(`https://www.example.com:${expired}/`, { verify: false })).toMatchObject({
      status: 200,
    });
  });

  it('a server that speaks no TLS, or breaks off, is reported differently from one that is down', async () => {
    for (const speak of ['HTTP/1.1 400 Bad Request\r\n\r\n', '']) {
      const server = await serveBytes((socket) => socket.once('data', () => socket.end(speak)));
      opened.push(server);
      await expect(get(`https://www.example.com:${server.port}/`)).rejects.toMatchObject({
        kind: 'tls',
        message: `No TLS connection could be made with www.example.com port ${server.port}.`,
      });
    }
  });

  it('a handshake that hangs is bounded, and its connection does not stay', async () => {
    const server = await serveBytes((socket) => void socket.resume());
    opened.push(server);
    const url = `https://www.example.com:${server.port}/`;
    await expect(
      guardedRequest(guard, { url, method: 'GET', timeoutMs: 250, maxResponseBytes: 1 }),
    ).rejects.toMatchObject({ kind: 'timeout' });
    await eventually(() => expect(server.connections.open).toBe(0));
  });
});
