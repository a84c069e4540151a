import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type {
  Credentials,
  GatewayDescription,
  Integrated,
  IntegrationOwner,
  SealedCredentials,
  Zone,
} from '@certwright/gateway-contract';

interface FakeResponse {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

type MakeIntegration = IntegrationOwner & { readonly credentials: Credentials | SealedCredentials };

/** How a message goes wrong. */
export type Failure =
  /** Said before anything was done. */
  | FakeResponse
  /** Processed, but the response is lost. */
  | 'response is lost'
  /** Received, but not processed until released. */
  | { readonly until: Promise<unknown> };

const description: GatewayDescription = {
  encryption_key: { kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', kid: 'k1' },
  providers: [
    {
      name: 'desec',
      title: 'deSEC',
      advice: 'A token for the zones alone.',
      credentials: [
        {
          type: 'bearer',
          members: [{ name: 'token', meaning: 'An API token', secret: true, required: true }],
          authorization_url: null,
          principal: null,
          external_id: null,
        },
      ],
    },
  ],
};

/**
 * A DNS gateway that keeps in memory what the real one seals into handles, over mutual TLS on a real port. It refuses the
 * token `wrong`.
 */
export class FakeGateway {
  /** In the order of arrival. */
  readonly requests: string[] = [];
  /** Handle → what it was made for; a handle that was replaced is none any more. */
  readonly handles = new Map<string, MakeIntegration>();
  readonly description = description;
  zones: readonly Zone[] = [{ id: 'z1', name: 'example.com' }];
  /** Every response about an integration has a new handle, as with rotating refresh tokens. */
  reseals = false;
  readonly #failures = new Map<string, Failure[]>();
  readonly #server: Server;

  private constructor(private readonly pem: string) {
    const own = { key: pem, cert: pem, ca: pem, requestCert: true, rejectUnauthorized: true };
    this.#server = createServer(own, (request, response) => void this.#receive(request, response));
  }

  static async open(): Promise<FakeGateway> {
    const gateway = new FakeGateway(selfSigned('DNS:localhost'));
    gateway.#server.listen(0, '127.0.0.1');
    await once(gateway.#server, 'listening');
    return gateway;
  }

  /** For the API under test. */
  get settings(): Readonly<Record<string, string>> {
    return gatewaySettings((this.#server.address() as AddressInfo).port, this.pem);
  }

  /** The next message to this endpoint goes wrong, and those after it as the others say. */
  willFail(endpoint: string, ...failures: readonly Failure[]): void {
    this.#failures.set(endpoint, [...failures]);
  }

  /** Messages to this endpoint so far. */
  count(endpoint: string): number {
    return this.requests.filter((each) => each === endpoint).length;
  }

  reset(): void {
    this.requests.length = 0;
    this.handles.clear();
    this.zones = [{ id: 'z1', name: 'example.com' }];
    this.reseals = false;
    this.#failures.clear();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const [path = ''] = String(request.url).split('?');
    const endpoint = path.slice(1);
    this.requests.push(endpoint);
    const failure = this.#failures.get(endpoint)?.shift();
    if (typeof failure === 'object' && 'until' in failure) await failure.until;
    const early = typeof failure === 'object' && 'status' in failure ? failure : null;
    const { status, body, headers } = early ?? this.#respond(endpoint, text);
    if (failure === 'response is lost') return void request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(body));
  }

  #respond(endpoint: string, text: string): FakeResponse {
    switch (endpoint) {
      case 'description':
        return { status: 200, body: description };
      case 'make_integration':
        return this.#make(JSON.parse(text) as MakeIntegration);
      case 'get_zones':
        return this.#getZones(JSON.parse(text) as Integrated);
      default:
        return { status: 404, body: { code: 'not_found', message: 'There is nothing at this address.' } };
    }
  }

  #make(request: MakeIntegration): FakeResponse {
    const { credentials } = request;
    if (credentials.type === 'bearer' && credentials['token'] === undefined) {
      const fault = { field: 'credentials.token', code: 'missing_field', message: 'It is needed.' };
      return { status: 400, body: { code: 'bad_request', message: 'See there.', sub_errors: [fault] } };
    }
    if (credentials.type === 'bearer' && credentials['token'] === 'wrong')
      return refusal('provider_auth_failed', 'deSEC refuses the token.');
    return { status: 200, body: { integration: this.#seal(request) } };
  }

  #getZones({ integration, account, integration_id, provider }: Integrated): FakeResponse {
    const made = this.handles.get(integration);
    const holds =
      made?.account === account && made.integration_id === integration_id && made.provider === provider;
    if (made === undefined || !holds)
      return { status: 400, body: { code: 'bad_handle', message: 'The handle does not open.' } };
    if (!this.reseals) return { status: 200, body: { zones: this.zones } };
    this.handles.delete(integration);
    return { status: 200, body: { zones: this.zones, integration: this.#seal(made) } };
  }

  #seal(made: MakeIntegration): string {
    const handle = `fake.${randomBytes(24).toString('base64url')}`;
    this.handles.set(handle, made);
    return handle;
  }
}

/** Error of the provider. @param handle a new one in the error */
export function refusal(code: string, message: string, handle?: string): FakeResponse {
  const resealed = handle === undefined ? {} : { integration: handle };
  return { status: 502, body: { code, message, ...resealed } };
}

/**
 * One certificate that is its own CA, server and client at once, and its key, in one PEM text.
 *
 * @param names as OpenSSL's configuration has them: `DNS:localhost`
 */
export function selfSigned(names: string): string {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '-'];
  const subject = ['-subj', '/CN=gateway', '-addext', `subjectAltName=${names}`];
  const options = { encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('openssl', ['req', '-x509', ...key, '-out', '-', ...subject, '-days', '10'], options);
}

/** Settings with which the API under test reaches a gateway that trusts this certificate. */
export function gatewaySettings(port: number, pem: string): Readonly<Record<string, string>> {
  return {
    GATEWAY_URL: `https://localhost:${port}`,
    GATEWAY_CA: pem,
    GATEWAY_CERTIFICATE: pem,
    GATEWAY_KEY: pem,
  };
}
