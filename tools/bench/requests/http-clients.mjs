// HTTP/1.1 clients that cost little beside the measured process: prepared bytes on open connections, one request at a time on
// each, and responses that are only counted.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const headerEnd = Buffer.from('\r\n\r\n');

/** @param {{ host: string, port: number, headers: Record<string, string> }} target */
export const requestBytes = ({ host, port, headers }, method, path, body = '') =>
  [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}:${port}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n');

/** One connection. */
class Connection {
  /** @param {{ host: string, port: number }} target */
  constructor({ host, port }) {
    this.socket = connect({ host, port, noDelay: true });
    this.socket.on('data', (chunk) => this.received(chunk));
    this.socket.on('error', (error) => this.ended(error));
    this.socket.on('close', () => this.ended(new Error('the connection was closed')));
    this.rest = Buffer.alloc(0);
    this.waiting = null;
  }

  /** @param {string} bytes of a request @returns {Promise<number>} status */
  async request(bytes) {
    return await new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.write(bytes);
    });
  }

  received(chunk) {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    this.rest = bytes;
    const end = bytes.indexOf(headerEnd);
    if (end === -1) return;
    const head = bytes.latin1Slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? NaN);
    if (Number.isNaN(length)) return this.ended(new Error(`a response without a length: ${head}`));
    if (bytes.length < end + headerEnd.length + length) return;
    this.rest = Buffer.alloc(0);
    this.settle(({ resolve }) => resolve(Number(head.slice(9, 12))));
  }

  ended(error) {
    this.settle(({ reject }) => reject(error));
  }

  settle(how) {
    const { waiting } = this;
    this.waiting = null;
    if (waiting !== null) how(waiting);
  }
}

/** Clients of one process. */
export class Clients {
  /** @param {{ host: string, port: number }} target @param {number} connections */
  constructor(target, connections) {
    this.connections = Array.from({ length: connections }, () => new Connection(target));
  }

  /**
   * Each connection sends the next request as soon as it has a response.
   *
   * @param {() => string} next bytes of the next request
   * @param {number} forMs
   * @returns {Promise<{ count: number, seconds: number }>}
   */
  async asFastAsPossible(next, forMs, expected) {
    const begun = performance.now();
    let count = 0;
    const work = async (connection) => {
      while (performance.now() - begun < forMs) {
        expect(await connection.request(next()), expected);
        count += 1;
      }
    };
    await Promise.all(this.connections.map(work));
    return { count, seconds: (performance.now() - begun) / 1_000 };
  }

  /**
   * A fixed rate, whether or not responses arrive.
   *
   * @param {() => string} next bytes of the next request
   * @returns {Promise<{ status: number, ms: number }[]>} ms: from when the request was due
   */
  async atRate(next, perSecond, forMs) {
    const free = [...this.connections];
    const sent = [];
    const begun = performance.now();
    const dueMs = () => (sent.length * 1_000) / perSecond;
    const send = async (connection, due) => {
      const status = await connection.request(next());
      free.push(connection);
      return { status, ms: performance.now() - begun - due };
    };
    for (let now = 0; now < forMs; now = performance.now() - begun) {
      while (dueMs() <= now && free.length > 0) sent.push(send(free.pop(), dueMs()));
      await delay(1);
    }
    return await Promise.all(sent);
  }

  close() {
    for (const { socket } of this.connections) socket.removeAllListeners('close').destroy();
  }
}

function expect(status, expected) {
  if (status !== expected) throw new Error(`status ${status} instead of ${expected}`);
}
