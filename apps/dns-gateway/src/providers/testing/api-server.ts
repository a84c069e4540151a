import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RecordedRequest {
  readonly method: string;
  /** Without the query, as it was sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ApiReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | object;
}

/**
 * `loop` returns the first page of a list for every cursor; `cut` closes the connection before the request is
 * applied, `applied_then_cut` after it; `silent` never responds; `echo` refuses and repeats the whole request.
 */
export type Misbehaviour =
  | 'rate_limited'
  | 'forbidden'
  | 'server_error'
  | 'html'
  | 'truncated'
  | 'unsuccessful'
  | 'scalar'
  | 'wrong_shape'
  | 'loop'
  | 'redirect'
  | 'huge'
  | 'cut'
  | 'applied_then_cut'
  | 'silent'
  | 'echo';

/** A local fake API with its own state, which misbehaves when configured to. */
export class ApiServer {
  readonly requests: RecordedRequest[] = [];
  readonly #firstPages = new Map<string, ApiReply>();
  #how: Misbehaviour | null = null;
  #left = 0;
  #which: (request: RecordedRequest) => boolean = () => true;

  private constructor(
    private readonly server: Server,
    private readonly respond: (request: RecordedRequest) => ApiReply | Promise<ApiReply>,
  ) {}

  /** @param respond responds as the API documents, and contains the state */
  static async open(respond: (request: RecordedRequest) => ApiReply | Promise<ApiReply>): Promise<ApiServer> {
    const server = createServer();
    const api = new ApiServer(server, respond);
    server.on('request', (request, response) => void api.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  /** Without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Applies to the next `times` requests that match `which`. */
  misbehave(how: Misbehaviour, times = 1, which: (request: RecordedRequest) => boolean = () => true): void {
    [this.#how, this.#left, this.#which] = [how, times, which];
  }

  /** Whether requests remain that get no response. */
  get isSilent(): boolean {
    return this.#how === 'silent' && this.#left > 0;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await recorded(incoming);
    this.requests.push(request);
    if (this.#how === null || this.#left === 0 || !this.#which(request)) {
      return send(response, await this.#usual(request));
    }
    this.#left -= 1;
    await this.#misserve(this.#how, request, response);
  }

  async #usual(request: RecordedRequest): Promise<ApiReply> {
    const reply = await this.respond(request);
    const key = `${request.method} ${request.path}`;
    if (!this.#firstPages.has(key)) this.#firstPages.set(key, reply);
    return reply;
  }

  async #misserve(how: Misbehaviour, request: RecordedRequest, response: ServerResponse): Promise<void> {
    if (how === 'silent') return;
    if (how === 'cut') return void response.destroy();
    if (how === 'applied_then_cut') {
      await this.respond(request);
      return void response.destroy();
    }
    const usual = await this.#usual(request);
    if (how === 'loop')
      return send(response, this.#firstPages.get(`${request.method} ${request.path}`) ?? usual);
    send(response, misreply(how, request, usual));
  }
}

type Misreply = Exclude<Misbehaviour, 'silent' | 'cut' | 'applied_then_cut' | 'loop'>;

function misreply(how: Misreply, request: RecordedRequest, usual: ApiReply): ApiReply {
  const html = { 'content-type': 'text/html' };
  const replies: Record<Misreply, () => ApiReply> = {
    rate_limited: () => ({
      status: 429,
      headers: { 'retry-after': '30' },
      body: { message: 'too many requests' },
    }),
    forbidden: () => ({ status: 403, body: { message: 'not allowed' } }),
    server_error: () => ({ status: 500, headers: html, body: '<h1>Internal Server Error</h1>' }),
    html: () => ({ status: 200, headers: html, body: '<!doctype html><title>Maintenance</title>' }),
    truncated: () => ({ status: 200, body: `${textOf(usual).slice(0, -1)} ` }),
    unsuccessful: () => ({ status: 200, body: unsuccessful }),
    scalar: () => ({ status: 200, body: '42' }),
    wrong_shape: () => ({ status: 200, body: { hello: [{ world: null }] } }),
    redirect: () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' } }),
    huge: () => ({ status: 200, body: `"${'x'.repeat(5 * 1024 * 1024)}"` }),
    echo: () => echo(request),
  };
  return replies[how]();
}

const unsuccessful = {
  success: false,
  errors: [{ code: 1000, message: 'Something went wrong.' }],
  result: null,
};

/** In every member where an API is known to put its message. */
function echo({ path, headers, body }: RecordedRequest): ApiReply {
  const echoed = `no ${Object.values(headers).join(' ')} ${path} ${body}`;
  const list = [{ code: 1, reason: 'bad', detail: echoed, message: echoed }];
  return {
    status: 400,
    body: {
      message: echoed,
      error: { code: 'bad', message: echoed },
      errors: list,
      detail: echoed,
      error_description: echoed,
    },
  };
}

async function recorded(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const [path = '', query = ''] = (incoming.url ?? '').split('?');
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, String(value)] as const),
  );
  return {
    method: incoming.method ?? '',
    path,
    query: new URLSearchParams(query),
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

const textOf = ({ body = '' }: ApiReply): string => (typeof body === 'string' ? body : JSON.stringify(body));

function send(response: ServerResponse, reply: ApiReply): void {
  const type: Record<string, string> =
    typeof reply.body === 'object' ? { 'content-type': 'application/json' } : {};
  response.writeHead(reply.status, { ...type, ...reply.headers }).end(textOf(reply));
}
