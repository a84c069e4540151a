import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  checkpointOrigin,
  consistencyRanges,
  inclusionRanges,
  leafHash,
  rfc6962KeyId,
  treeHeadSignatureInput,
} from '@certwright/ct';
import { issuerDer, sha256, type Submission } from './forged-entries';
import { ForgedTree, type ServedEntry, served } from './forged-tree';

export type FakeLogKind = 'rfc6962' | 'static';

/** Responds instead of the log; false: the log responds. */
export type Interception = (
  path: string,
  response: ServerResponse,
  request: IncomingMessage,
) => boolean | Promise<boolean>;

export interface SignedHead {
  readonly treeSize: number;
  readonly timestamp: number;
  readonly rootHash: Buffer;
}

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** A log on loopback with a real tree and real signatures, and configurable behaviour. */
export class FakeLog {
  /** Requests by path, in order. */
  readonly requests: string[] = [];
  intercept: Interception = () => false;
  /** Max entries of a get-entries response. */
  page = 100;
  /** Whether a response that is cut to `page` ends at a multiple of it, as of Trillian's logs. */
  aligns = false;
  /** Whether data tiles are compressed. */
  gzip = true;
  signingKey: KeyObject;
  readonly keyDer: Buffer;
  readonly logId: Buffer;
  entries: ServedEntry[] = [];
  head: SignedHead;
  private tree = new ForgedTree([]);
  private readonly sockets = new Set<Socket>();

  private constructor(
    readonly kind: FakeLogKind,
    readonly url: string,
    private readonly server: ReturnType<typeof createServer>,
  ) {
    const { publicKey, privateKey } = pair();
    this.signingKey = privateKey;
    this.keyDer = publicKey.export({ type: 'spki', format: 'der' });
    this.logId = sha256(this.keyDer);
    this.head = this.headAt(0);
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on(
      'request',
      (request: IncomingMessage, response: ServerResponse) => void this.serve(request, response),
    );
  }

  static async open(kind: FakeLogKind, submissions: readonly Submission[] = []): Promise<FakeLog> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const log = new FakeLog(kind, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server);
    log.add(submissions);
    return log;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Adds submissions and signs a head with them. */
  add(submissions: readonly Submission[]): void {
    const first = this.entries.length;
    this.replace([
      ...this.entries,
      ...submissions.map((each, at) => served(each, first + at, this.kind === 'static')),
    ]);
  }

  /** Replaces the history. */
  replace(entries: readonly ServedEntry[], leaves = entries.map(({ leaf }) => leafHash(leaf))): void {
    this.entries = [...entries];
    this.tree = new ForgedTree(leaves);
    this.head = this.headAt(entries.length);
  }

  /** An unsigned head of this many entries. */
  headAt(treeSize: number, timestamp = Date.now()): SignedHead {
    return { treeSize, timestamp, rootHash: this.tree.root(treeSize) };
  }

  root(size: number): Buffer {
    return this.tree.root(size);
  }

  /** Signs with a key of another log. */
  forgetKey(): void {
    this.signingKey = pair().privateKey;
  }

  /** For `LOG_LIST`. */
  listed(change: Record<string, unknown> = {}): Record<string, unknown> {
    const common = {
      description: `Fake ${this.kind}`,
      log_id: this.logId.toString('base64'),
      key: this.keyDer.toString('base64'),
      mmd: 60,
      state: { usable: { timestamp: '2026-01-01T00:00:00Z' } },
    };
    const urls =
      this.kind === 'static' ? { submission_url: this.url, monitoring_url: this.url } : { url: this.url };
    return { ...common, ...urls, ...change };
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    this.requests.push(path);
    if (await this.intercept(path, response, request)) return;
    const { pathname, searchParams } = new URL(path, this.url);
    const body =
      this.kind === 'static' ? this.staticResponse(pathname) : this.rfc6962Response(pathname, searchParams);
    if (body === null) return void response.writeHead(404).end();
    const acceptsGzip = String(request.headers['accept-encoding']).includes('gzip');
    if (!this.gzip || !acceptsGzip || !pathname.startsWith('/tile/data')) return void response.end(body);
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body, { level: 1 }));
  }

  private rfc6962Response(pathname: string, query: URLSearchParams): Buffer | null {
    const number = (name: string) => Number(query.get(name));
    const json = (value: unknown) => Buffer.from(JSON.stringify(value));
    const base64 = (hashes: readonly Buffer[]) => hashes.map((each) => each.toString('base64'));
    switch (pathname) {
      case '/ct/v1/get-sth':
        return json({
          tree_size: this.head.treeSize,
          timestamp: this.head.timestamp,
          sha256_root_hash: this.head.rootHash.toString('base64'),
          tree_head_signature: this.signature().toString('base64'),
        });
      case '/ct/v1/get-sth-consistency':
        return json({
          consistency: base64(this.proof(consistencyRanges(number('first'), number('second')))),
        });
      case '/ct/v1/get-proof-by-hash': {
        const index = this.tree.leaves.findIndex((leaf) => leaf.toString('base64') === query.get('hash'));
        return json({
          leaf_index: index,
          audit_path: base64(this.proof(inclusionRanges(index, number('tree_size')))),
        });
      }
      case '/ct/v1/get-entries': {
        const [start, end] = [number('start'), number('end') + 1];
        const cut = this.aligns ? this.page - (start % this.page) : this.page;
        const requested = this.entries.slice(start, end - start > this.page ? start + cut : end);
        const entries = upTo(maxResponse, requested).map(entryJson);
        if (entries.length === 0) return null;
        const parted = entries.flatMap((entry, nth) => (nth === 0 ? [entry] : [comma, entry]));
        return Buffer.concat([Buffer.from('{"entries":['), ...parted, Buffer.from(']}')]);
      }
      default:
        return null;
    }
  }

  private staticResponse(pathname: string): Buffer | null {
    if (pathname === '/checkpoint') return this.checkpoint();
    if (pathname === `/issuer/${sha256(issuerDer).toString('hex')}`) return issuerDer;
    const match = /^\/tile\/(data|\d)\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d+))?$/.exec(pathname);
    if (match === null) return null;
    const [, level = '', index = '', partial] = match;
    const first = Number(index.replace(/[x/]/g, '')) * 256;
    const end = first + Number(partial ?? 256);
    if (level === 'data') {
      if (end > this.entries.length) return null;
      return Buffer.concat(this.entries.slice(first, end).map(({ tileLeaf }) => tileLeaf));
    }
    const leaves = 256 ** Number(level);
    if (end * leaves > this.entries.length) return null;
    return Buffer.concat(
      Array.from({ length: end - first }, (_, at) =>
        this.tree.hashOf((first + at) * leaves, (first + at + 1) * leaves),
      ),
    );
  }

  private checkpoint(): Buffer {
    const origin = checkpointOrigin(this.url);
    const { treeSize, timestamp, rootHash } = this.head;
    const head = Buffer.alloc(12);
    head.writeUInt32BE(rfc6962KeyId(origin, this.logId));
    head.writeBigUInt64BE(BigInt(timestamp), 4);
    const signature = Buffer.concat([head, this.signature()]).toString('base64');
    return Buffer.from(
      `${origin}\n${treeSize}\n${rootHash.toString('base64')}\n\n\u2014 ${origin} ${signature}\n`,
      'utf8',
    );
  }

  private proof(ranges: readonly { readonly start: number; readonly end: number }[]): Buffer[] {
    return ranges.map(({ start, end }) => this.tree.hashOf(start, end));
  }

  /** TreeHeadSignature: SHA-256, ECDSA, and the signature as a vector. */
  private signature(): Buffer {
    const signature = sign('sha256', treeHeadSignatureInput(this.head), this.signingKey);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(signature.length);
    return Buffer.concat([Buffer.from([4, 3]), length, signature]);
  }
}

const comma = Buffer.from(',');
const written = new WeakMap<ServedEntry, Buffer>();

/** Responses to get-entries. One of 16 MB takes long to build, and is requested often. */
function entryJson(entry: ServedEntry): Buffer {
  const before = written.get(entry);
  if (before !== undefined) return before;
  const { leaf, extraData } = entry;
  const members = { leaf_input: leaf.toString('base64'), extra_data: extraData.toString('base64') };
  const json = Buffer.from(JSON.stringify(members));
  written.set(entry, json);
  return json;
}

/** Max bytes of the leaves in one response: real logs have a limit, too. */
const maxResponse = 20_000_000;

function upTo(maxBytes: number, entries: readonly ServedEntry[]): readonly ServedEntry[] {
  let sum = 0;
  const end = entries.findIndex(({ leaf }) => (sum += leaf.length) > maxBytes);
  return end < 0 ? entries : entries.slice(0, Math.max(1, end));
}
