// Many agents that poll: `node clients.mjs <port> <agents> <agents of a cluster> <signed | plain>`. Reports to its parent
// how many wait, and, once for each change of their cluster, when the first and the last agent got it.
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { connect } from 'node:net';
import { LOOPBACK } from '../../embedded/ports.mjs';

const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const emptyDigest = `sha-256=:${createHash('sha256').digest('base64')}:`;

/** The same for client and database. @param {number} index */
export function identity(index) {
  const seed = createHash('sha256').update(`bench agent ${index}`).digest();
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(12);
  const id = createHash('sha256').update(publicKey).digest().subarray(0, 16).toString('base64url');
  return { id, privateKey, publicKey };
}

/** RFC 9421, as docs/agent-protocol.md has it. */
function signedGet({ id, privateKey }, path, query) {
  const created = Math.floor(Date.now() / 1_000);
  const params = `("@method" "@path" "@query" "content-digest");created=${created};keyid="${id}";tag="certwright-agent"`;
  const base = [
    '"@method": GET',
    `"@path": ${path}`,
    `"@query": ${query}`,
    `"content-digest": ${emptyDigest}`,
    `"@signature-params": ${params}`,
  ].join('\n');
  const signature = sign(null, Buffer.from(base), privateKey).toString('base64');
  return `Content-Digest: ${emptyDigest}\r\nSignature-Input: sig1=${params}\r\nSignature: sig1=:${signature}:\r\n`;
}

/** One agent on one connection, with as little of HTTP as our server sends. */
class Poller {
  #received = '';
  version = 0;
  waits = false;
  #socket;

  constructor(index, options) {
    this.index = index;
    this.options = options;
    this.self = options.isSigned ? identity(index) : null;
  }

  start() {
    this.#socket = connect({ host: LOOPBACK, port: this.options.port });
    this.#socket.setNoDelay(true);
    this.#socket.setEncoding('latin1');
    this.#socket.on('connect', () => this.#request());
    this.#socket.on('data', (data) => this.#read(data));
    this.#socket.on(
      'error',
      ({ code }) => (this.options.errors[code] = (this.options.errors[code] ?? 0) + 1),
    );
    this.#socket.on('close', () => {
      this.waits = false;
      this.options.closed += 1;
      setTimeout(() => this.start(), 500 + Math.random() * 1_500);
    });
  }

  #request() {
    const path = '/api/v3/agent/state';
    const query = `?after=${this.version}&wait=${this.options.waitS}`;
    const headers = this.self === null ? '' : signedGet(this.self, path, query);
    this.#socket.write(`GET ${path}${query} HTTP/1.1\r\nHost: ${LOOPBACK}\r\n${headers}\r\n`);
    this.waits = this.version > 0;
  }

  #read(data) {
    this.#received += data;
    const head = this.#received.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#received.slice(0, head))?.[1] ?? 0);
    if (this.#received.length < head + 4 + length) return;
    const status = Number(this.#received.slice(9, 12));
    const body = this.#received.slice(head + 4, head + 4 + length);
    const retryAfterS = Number(/retry-after: (\d+)/i.exec(this.#received.slice(0, head))?.[1] ?? 0);
    this.#received = '';
    this.waits = false;
    this.options.statuses[status] = (this.options.statuses[status] ?? 0) + 1;
    if (status === 200) {
      const state = JSON.parse(body);
      if (this.version > 0 && state.orders.length > 0) this.options.changed(this.index);
      this.version = state.version;
    }
    if (status === 200 || status === 204) this.#request();
    else setTimeout(() => this.#request(), 1_000 * Math.max(1, retryAfterS) * (1 + Math.random() / 2));
  }
}

function main([port, agents, perCluster, kind, waitS]) {
  const changes = new Map();
  const options = {
    ...{
      port: Number(port),
      waitS: Number(waitS),
      isSigned: kind === 'signed',
      statuses: {},
      errors: {},
      closed: 0,
    },
    changed: (index) => {
      const cluster = Math.floor(index / Number(perCluster));
      const seen = changes.get(cluster) ?? { count: 0, firstMs: Date.now(), lastMs: 0 };
      changes.set(cluster, { ...seen, count: seen.count + 1, lastMs: Date.now() });
    },
  };
  const pollers = Array.from({ length: Number(agents) }, (_, index) => new Poller(index, options));
  // As many reconnects per second as agents with jitter make after a restart.
  const starting = setInterval(() => {
    for (const poller of pollers.splice(0, 100)) {
      all.push(poller);
      poller.start();
    }
    if (pollers.length === 0) clearInterval(starting);
  }, 100);
  const all = [];
  process.on('message', (message) => {
    if (message === 'forget') changes.clear();
    const waiting = all.filter(({ waits }) => waits).length;
    process.send({
      waiting,
      statuses: options.statuses,
      closed: options.closed,
      errors: options.errors,
      changes: [...changes],
    });
  });
}

if (process.send !== undefined) main(process.argv.slice(2));
