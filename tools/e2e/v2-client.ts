import { spawn } from 'node:child_process';

/** A response as the existing command-line client sees it: status, the whole Content-Type, the body. */
export interface ClientResponse {
  readonly status: number;
  readonly contentType: string;
  readonly json: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- specs read whatever came
}

export interface ClientRequest {
  readonly method: 'GET' | 'POST';
  /** Relative to the URL of the API, with its query. */
  readonly path: string;
  readonly credentials?: { readonly user: string; readonly password: string };
  /** Default: no body. */
  readonly body?: string;
  readonly contentType?: string;
}

/** The program that sends requests. */
export type Transport = (endpoint: string, request: ClientRequest) => Promise<ClientResponse>;

/** Longer than the longest poll. */
const timeoutS = 300;

/**
 * Runs curl, which reads its options from standard input, so that no secret is in the list of processes.
 * Every POST has a body, possibly empty, with the content type of a form by default.
 */
export const byCurl: Transport = async (endpoint, { method, path, credentials, body, contentType }) => {
  const lines = [
    'silent',
    'include',
    `max-time = "${timeoutS}"`,
    `request = "${method}"`,
    `url = "${quoted(endpoint + path)}"`,
    ...(contentType === undefined ? [] : [`header = "Content-Type: ${contentType}"`]),
    ...(credentials === undefined
      ? []
      : [`user = "${quoted(`${credentials.user}:${credentials.password}`)}"`]),
    ...(method === 'POST' ? [`data = "${quoted(body ?? '')}"`] : []),
  ];
  return readResponse(await run('curl', ['-q', '-K', '-'], `${lines.join('\n')}\n`));
};

/** By Perl's LWP, which sends a POST without a body as just that: no Content-Type, and a length of nothing. */
export const byLwp: Transport = async (endpoint, { method, path, credentials, body, contentType }) => {
  const request = { method, url: endpoint + path, credentials, body, contentType };
  return readResponse(await run('perl', ['-e', lwpProgram], JSON.stringify(request)));
};

const lwpProgram = `
  use strict; use warnings; use LWP::UserAgent; use JSON::PP; use Encode;
  my $sent = decode_json(do { local $/; <STDIN> });
  my $agent = LWP::UserAgent->new(timeout => ${timeoutS});
  my $request = HTTP::Request->new($sent->{method}, $sent->{url});
  $request->header('Content-Type' => $sent->{contentType}) if defined $sent->{contentType};
  $request->authorization_basic($sent->{credentials}{user}, encode('utf8', $sent->{credentials}{password}))
    if defined $sent->{credentials};
  $request->content(encode('utf8', $sent->{body})) if defined $sent->{body};
  my $response = $agent->request($request);
  print 'HTTP/1.1 ', $response->code, "\\r\\nContent-Type: ", scalar($response->header('Content-Type') // ''), "\\r\\n\\r\\n";
  print $response->content;
`;

/** The last head, since an interim one (100) may stand before it; header names in any case. */
function readResponse(text: string): ClientResponse {
  const parts = text.split('\r\n\r\n');
  while (parts.length > 2 && /^HTTP\/\S+ 1\d\d/.test(parts[0] ?? '')) parts.shift();
  const [head = '', ...rest] = parts;
  const [, status = '0'] = /^HTTP\/\S+ (\d+)/.exec(head) ?? [];
  const [, contentType = ''] = /^content-type:\s*(.*)$/im.exec(head) ?? [];
  const body = rest.join('\r\n\r\n');
  const json: unknown = contentType.trim() === 'application/json' ? JSON.parse(body) : undefined;
  return { status: Number(status), contentType: contentType.trim(), json };
}

async function run(command: string, args: readonly string[], input: string): Promise<string> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}`);
  return output;
}

function quoted(text: string): string {
  return text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r');
}

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Everything that is not a letter, a digit, `-`, `.` or `_` is escaped. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*~]/g, (each) => `%${each.charCodeAt(0).toString(16)}`);
}

function formOf(fields: Fields): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      value === undefined ? [] : (Array.isArray(value) ? value : [value]).map((each: string) => [name, each]),
    )
    .map(([name = '', value = '']) => `${escaped(name)}=${escaped(value)}`)
    .join('&');
}

/** The requests of a command-line client of the certificate API, by one transport and one API key. */
export class V2Client {
  constructor(
    private readonly endpoint: string,
    private readonly transport: Transport,
    private readonly apiKey: string,
  ) {}

  async get(path: string, query: Fields = {}): Promise<ClientResponse> {
    return await this.send({ method: 'GET', path: withQuery(path, query) });
  }

  /** @param form left out: a POST without body */
  async post(path: string, form?: Fields, query: Fields = {}): Promise<ClientResponse> {
    const body =
      form === undefined ? {} : { body: formOf(form), contentType: 'application/x-www-form-urlencoded' };
    return await this.send({ method: 'POST', path: withQuery(path, query), ...body });
  }

  async postJson(path: string, body: object, query: Fields = {}): Promise<ClientResponse> {
    const contentType = 'application/json';
    return await this.send({
      method: 'POST',
      path: withQuery(path, query),
      body: JSON.stringify(body),
      contentType,
    });
  }

  /** Without credentials. */
  async getAnonymously(path: string, query: Fields = {}): Promise<ClientResponse> {
    return await this.transport(this.endpoint, { method: 'GET', path: withQuery(path, query) });
  }

  /** As the person who links a machine. */
  async getAs(user: string, password: string, path: string): Promise<ClientResponse> {
    return await this.transport(this.endpoint, { method: 'GET', path, credentials: { user, password } });
  }

  /** Polls as the client does: repeatedly, and never before `retry_after`. */
  async waitFor(cn: string, id: number, timeoutS: number): Promise<ClientResponse> {
    const until = Date.now() + timeoutS * 1_000;
    for (;;) {
      const poll = String(Math.max(0, Math.min(180, Math.round((until - Date.now()) / 1_000))));
      const response = await this.get(`/certs/${escaped(cn)}/instances/${id}`, {
        poll,
        expand: ['crt', 'chain', 'root'],
      });
      if (response.status !== 412 || Date.now() > until) return response;
      await new Promise((resolve) => setTimeout(resolve, Number(response.json.retry_after) * 1_000));
    }
  }

  private async send(request: ClientRequest): Promise<ClientResponse> {
    const credentials = { user: this.apiKey, password: '' };
    return await this.transport(this.endpoint, { ...request, credentials });
  }
}

function withQuery(path: string, query: Fields): string {
  const text = formOf(query);
  return text === '' ? path : `${path}?${text}`;
}

/** A common name in a path. */
export const inPath = escaped;
