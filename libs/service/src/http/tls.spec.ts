import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as connectTcp, type TcpNetConnectOpts } from 'node:net';
import { connect, TLSSocket } from 'node:tls';
import { eventually, type KeyAndCertificate, TestRoot } from '@certwright/testing';
import { type SampleApi, startSampleApi } from '../testing/sample-api';
import { closeHttpApp } from './http-app';
import { type HttpTls, renewTls } from './tls';

const ours = new TestRoot();
const others = new TestRoot();
const forServers = { names: 'IP:127.0.0.1', use: 'serverAuth' } as const;
const server = ours.certify(forServers);
const client = ours.certify({ use: 'clientAuth' });
const tls: HttpTls = { ...server, clientCa: ours.pem };

let api: SampleApi;
beforeAll(async () => void (api = await startSampleApi({ tls, maxBodyBytes: 1_024 })));
afterAll(async () => {
  await closeHttpApp(api.app, 1_000);
  ours.dispose();
  others.dispose();
});

const as = (holder: KeyAndCertificate | null): RequestOptions => ({
  host: '127.0.0.1',
  port: api.port,
  ca: [ours.pem, others.pem],
  ...(holder === null ? {} : { key: holder.key, cert: holder.certificate }),
});

/** Status and body, or the error's code. */
function send(options: RequestOptions, body = ''): Promise<string> {
  return new Promise((resolve) => {
    const sent = httpsRequest({ path: '/healthz', agent: false, ...options }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(`${response.statusCode} ${text}`));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(body);
  });
}

describe('with mutual TLS', () => {
  it('a client with a certificate of the right root is answered', async () => {
    expect(await send(as(client))).toBe('200 {"alive":true}');
  });

  it.each([
    ['without a certificate', () => null],
    ['with one of another root', () => others.certify({ use: 'clientAuth' })],
    ['with an expired one', () => ours.certify({ use: 'clientAuth', days: -1 })],
    ['with one for servers', () => ours.certify(forServers)],
  ])('a client %s gets no connection, and the log a line', async (_what, holder) => {
    const before = api.lines.length;
    expect(await send(as(holder()))).not.toMatch(/^\d/);
    await eventually(() => expect(api.lines.slice(before).join('')).toContain('no TLS connection'));
    expect(api.lines.slice(before).join('')).not.toContain('"msg":"request"');
  });

  it('versions below TLS 1.2 are refused', async () => {
    const old: RequestOptions = {
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    };
    expect(await send({ ...as(client), ...old })).not.toMatch(/^\d/);
    expect(await send({ ...as(client), maxVersion: 'TLSv1.2' })).toMatch(/^200 /);
  });

  it('a client that speaks no TLS gets no response', async () => {
    const response = await fetch(`http://127.0.0.1:${api.port}/healthz`).catch(
      (error: Error) => error.message,
    );
    expect(response).toBe('fetch failed');
  });

  it('no session is resumed: each connection sends its certificate again', async () => {
    const resumed = await new Promise<boolean>((resolve, reject) => {
      const options = { ...as(client), maxVersion: 'TLSv1.2' } as object;
      const first = connect(options, () => {
        const session = first.getSession();
        first.end();
        const second: TLSSocket = connect({ ...options, session }, () => {
          resolve(second.isSessionReused());
          second.end();
        });
        second.on('error', reject);
      });
      first.on('error', reject);
    });
    expect(resumed).toBe(false);
  });

  it('a body beyond the limit of this application receives 413', async () => {
    const post: RequestOptions = {
      method: 'POST',
      path: '/echo',
      headers: { 'content-type': 'application/json' },
    };
    const response = await send({ ...as(client), ...post }, JSON.stringify({ x: 'y'.repeat(1_024) }));
    expect(response).toBe('413 {"code":"request_too_large","message":"The body is larger than 1 KiB."}');
  });

  it('keys and certificates are renewed without a restart; those that do not fit are refused', async () => {
    const keepAlive = new Agent({ keepAlive: true });
    await send({ ...as(client), agent: keepAlive });
    renewTls(api.app, { ...others.certify(forServers), clientCa: others.pem });
    expect(await send(as(others.certify({ use: 'clientAuth' })))).toMatch(/^200 /);
    expect(await send(as(client))).not.toMatch(/^\d/);
    expect(await send({ ...as(client), agent: keepAlive })).not.toMatch(/^\d/);
    expect(() => renewTls(api.app, { ...tls, key: client.key })).toThrow();
    expect(await send(as(others.certify({ use: 'clientAuth' })))).toMatch(/^200 /);
    renewTls(api.app, tls);
    expect(await send(as(client))).toMatch(/^200 /);
    keepAlive.destroy();
  });

  it.each([
    ['has finished its handshake and said nothing', (to: object) => connect(to)],
    ['has not begun its handshake', (to: object) => connectTcp(to as TcpNetConnectOpts)],
  ])('closing does not wait for a connection that %s', async (_what, open) => {
    const own = await startSampleApi({ tls });
    const silent = open({ ...as(client), port: own.port });
    silent.on('error', () => undefined);
    await new Promise((resolve) =>
      silent.once(silent instanceof TLSSocket ? 'secureConnect' : 'connect', resolve),
    );
    // Longer than a test may take.
    await closeHttpApp(own.app, 120_000);
  });
});
