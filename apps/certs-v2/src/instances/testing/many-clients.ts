import { type Child, startChild } from '@certwright/testing';

export interface ManyClients {
  readonly host: string;
  readonly port: number;
  /** Paths to request, and the number of clients for each. */
  readonly requests: readonly { readonly path: string; readonly apiKey: string; readonly times: number }[];
}

export interface ClientsResult {
  /** Status of the response, and `state` or `reason` of its body → how many clients got it. */
  readonly responses: Readonly<Record<string, number>>;
  /** From the first response to the last, ms. */
  readonly spanMs: number;
}

/**
 * A process of its own, so that what clients cost is not counted as the server's. On a machine that is busy more may come at
 * once than two connections to the database serve in time: as every client does, these come again after a 503.
 */
const program = `
  const { connect } = require('node:net');
  const { host, port, requests: distinct } = JSON.parse(process.argv[1]);
  const requests = distinct.flatMap((request) => Array(request.times).fill(request));
  const responses = {};
  let left = requests.length, first;
  const one = (request) => {
    const { path, apiKey } = request;
    let text = '';
    const socket = connect(port, host, () => socket.write(
      'GET ' + path + ' HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nAuthorization: Basic ' +
      Buffer.from(apiKey + ':').toString('base64') + '\\r\\n\\r\\n'));
    socket.on('data', (chunk) => { text += chunk; });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const [head, body = ''] = text.split('\\r\\n\\r\\n');
      if (body === '' || head.slice(9, 12) === '503') return void setTimeout(one, 500, request);
      let json = {};
      try { json = JSON.parse(body); } catch {}
      const key = head.slice(9, 12) + ' ' + (json.state ?? json.reason);
      first ??= performance.now();
      responses[key] = (responses[key] ?? 0) + 1;
      if (--left === 0) console.log('RESULT ' + JSON.stringify({ responses, spanMs: performance.now() - first }));
    });
  };
  const wave = () => {
    for (const request of requests.splice(0, 100)) one(request);
    if (requests.length > 0) setTimeout(wave, 20);
  };
  wave();
`;

export async function startClients(clients: ManyClients): Promise<Child> {
  return await startChild(process.execPath, { args: ['-e', program, JSON.stringify(clients)] });
}

/** @throws Error when not all get a response within the time */
export async function resultOf(clients: Child, withinMs: number): Promise<ClientsResult> {
  await clients.says(/RESULT .*\n/, withinMs);
  return JSON.parse(/RESULT (.*)\n/.exec(clients.output())?.[1] ?? '') as ClientsResult;
}
