import { connect, type Socket } from 'node:net';
import type { SampleApi } from './sample-api';

export interface WireResponse {
  readonly status: number;
  /** Names in lower case; several of one name joined by a line break. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends bytes and reads until the server closes the connection, so requests need `Connection: close`.
 *
 * @param parts each is written once the one before it has been flushed
 */
export async function exchange(port: number, ...parts: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const received = readAll(socket);
  for (const part of parts) await write(socket, part);
  return received;
}

function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    socket.setTimeout(20_000, () => socket.destroy(new Error('no response within 20 s')));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (error) => (chunks.length > 0 ? undefined : reject(error)));
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}

/** A peer that closed the connection is not an error: only its response matters. */
const write = (socket: Socket, part: string | Buffer): Promise<void> =>
  new Promise((resolve) => socket.write(part, () => resolve()));

/** Reads one response. */
export function parseResponse(raw: string): WireResponse {
  const split = raw.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = raw.slice(0, split).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}\n${value}`;
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: raw.slice(split + 4) };
}

/** One request line, header lines and body, with `Host` and `Connection: close`. */
export function request(line: string, headers: readonly string[] = [], body: string | Buffer = ''): Buffer {
  const length = Buffer.byteLength(body);
  const head = [
    `${line} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: close',
    ...(length > 0 && !headers.some((each) => /^(content-length|transfer-encoding):/i.test(each))
      ? [`Content-Length: ${length}`]
      : []),
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

/** Status and code of the response to these bytes, which must be a Problem in the API's dialect. */
export async function refusalOf(
  { port }: SampleApi,
  ...parts: readonly (string | Buffer)[]
): Promise<[number, unknown]> {
  const { status, headers, body } = parseResponse(await exchange(port, ...parts));
  expect(headers['x-request-id']).toMatch(/^[\w.-]{1,128}$/);
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body, 'latin1')));
  return [status, (JSON.parse(body) as { code: unknown }).code];
}

/** After an attack: the process lives, and has not logged an error. */
export async function expectUnharmed({ port, lines }: SampleApi): Promise<void> {
  const health = parseResponse(await exchange(port, request('GET /healthz')));
  expect(health.status).toBe(200);
  expect(lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
}
