import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import path from 'node:path';
import {
  type ApiDocument,
  type Child,
  DocumentedResponses,
  type KeyAndCertificate,
  startChild,
  TestRoot,
} from '@certwright/testing';
import { clientOf, serverOf, spiffe } from './certificates';

export const workspaceRoot = path.join(__dirname, '../../../..');

/** For this run only: others may build at the same time. Inside the workspace, where packages are resolved. */
const bundleFolder = `dist/specs/dns-gateway-${process.pid}`;
let bundled: Promise<void> | undefined;
afterAll(() => rmSync(path.join(workspaceRoot, bundleFolder), { recursive: true, force: true }));

/** `openapi.json`. */
export const keptDocument = JSON.parse(
  readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'),
) as ApiDocument;

interface Bundling {
  bundle(entryPoints: Readonly<Record<string, string>>, outdir: string): Promise<void>;
}

async function bundleGateway(): Promise<void> {
  const { bundle } = (await import(path.join(workspaceRoot, 'tools/build/bundle.mjs'))) as Bundling;
  await bundle({ main: 'apps/dns-gateway/src/main.ts' }, bundleFolder);
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * The gateway as a separate process, run from its bundle, with certificates, keys and an audit directory in a
 * temporary directory.
 */
export class RunningGateway {
  readonly worker: KeyAndCertificate;
  readonly auditFolder: string;
  /** The responses in `openapi.json`; every response is compared with them. */
  readonly documented = new DocumentedResponses(keptDocument);
  child!: Child;
  #ended = '';
  port!: number;

  private constructor(
    readonly authority: TestRoot,
    private readonly settings: Readonly<Record<string, string>>,
  ) {
    this.worker = clientOf(authority, 'issuance-worker');
    this.auditFolder = path.join(authority.folder, 'audit');
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<RunningGateway> {
    await (bundled ??= bundleGateway());
    const gateway = new RunningGateway(new TestRoot(), settings);
    gateway.writeTls(serverOf(gateway.authority), gateway.authority.pem);
    gateway.authority.file('handle.keys', `${randomBytes(32).toString('base64')}\n`);
    gateway.authority.file('credentials.key', newCredentialsKey());
    await gateway.begin();
    return gateway;
  }

  /** Another copy, with the same files; stop its process before the first one is disposed of. */
  static async copyOf(
    first: RunningGateway,
    settings: Readonly<Record<string, string>>,
  ): Promise<RunningGateway> {
    const gateway = new RunningGateway(first.authority, settings);
    await gateway.begin();
    return gateway;
  }

  writeTls({ key, certificate }: KeyAndCertificate, clientCa: string): void {
    this.authority.file('tls.key', key);
    this.authority.file('tls.pem', certificate);
    this.authority.file('clients.pem', clientCa);
  }

  /** Also restarts a stopped gateway, with the same files. */
  async begin(): Promise<void> {
    this.#ended += this.child?.output() ?? '';
    const { command, args, env } = this.program();
    this.child = await startChild(command, { args, env });
    await this.child.says(/"msg":"started"/);
    this.port = Number(/"url":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(this.child.output())?.[1]);
  }

  program(more: Readonly<Record<string, string>> = {}) {
    const file = (name: string): string => path.join(this.authority.folder, name);
    return {
      command: process.execPath,
      args: [path.join(workspaceRoot, bundleFolder, 'main.js')],
      env: {
        PORT: '0',
        OPS_PORT: '0',
        TLS_KEY_FILE: file('tls.key'),
        TLS_CERTIFICATE_FILE: file('tls.pem'),
        CLIENT_CA_FILE: file('clients.pem'),
        HANDLE_KEYS_FILE: file('handle.keys'),
        CREDENTIALS_KEY_FILE: file('credentials.key'),
        AUDIT_DIR: this.auditFolder,
        AUDIT_INSTANCE: 'spec',
        GATEWAY_CLIENTS: `${spiffe('issuance-worker')}=make_integration+get_zones+add_record+remove_record+description,${spiffe('orders-v3')}=get_zones`,
        ...this.settings,
        ...more,
      },
    };
  }

  /** All output of it and its predecessors. */
  output(): string {
    return this.#ended + this.child.output();
  }

  /** The audit log so far, as text. */
  audit(): string {
    return readdirSync(this.auditFolder)
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .map((name) => readFileSync(path.join(this.auditFolder, name), 'utf8'))
      .join('');
  }

  /** @throws Error of the connection when it fails */
  post(endpoint: string, body: unknown, as: KeyAndCertificate | null = this.worker): Promise<WireResponse> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.request(
      { path: `/${endpoint}`, method: 'POST', headers: { 'content-type': 'application/json' } },
      text,
      as,
    );
  }

  /** @throws Error of the connection when it fails, or when a response differs from `openapi.json` */
  async request(
    options: RequestOptions,
    body = '',
    as: KeyAndCertificate | null = this.worker,
  ): Promise<WireResponse> {
    const received = await this.#exchange(options, body, as);
    const { method, path: at } = { method: 'GET', ...options };
    const response = {
      method: String(method),
      path: String(at),
      status: received.status,
      body: received.body,
    };
    const differences = this.documented.differences(response);
    if (differences.length > 0) throw new Error(`undocumented response:\n${differences.join('\n')}`);
    return received;
  }

  #exchange(options: RequestOptions, body: string, as: KeyAndCertificate | null): Promise<WireResponse> {
    const own = as === null ? {} : { key: as.key, cert: as.certificate };
    const to = {
      host: '127.0.0.1',
      port: this.port,
      ca: this.authority.pem,
      agent: false,
      ...own,
      ...options,
    };
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(to, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, body: JSON.parse(text) as WireResponse['body'] });
        });
      });
      sent.on('error', reject).end(body);
    });
  }

  async dispose(): Promise<void> {
    await this.child.stop();
    this.authority.dispose();
  }
}

const newCredentialsKey = (): string =>
  String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  );
