import { request } from 'node:http';

export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; undefined when it is empty or something else. */
  readonly json: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- specs read every shape
}

export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * One request over real HTTP.
 *
 * @param path is sent unchanged, also where a URL would normalize it
 * @param sent a body that is a string is sent unchanged, anything else as JSON
 */
export async function exchange(
  url: string,
  method: string,
  path: string,
  { body, headers = {} }: Sent = {},
): Promise<ReceivedResponse> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const { hostname, port } = new URL(url);
  const contentType = text === undefined ? {} : { 'content-type': 'application/json' };
  return await new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: { ...contentType, ...headers } };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const received = Buffer.concat(chunks).toString();
        const isJson =
          received !== '' && /^application\/json(;|$)/.test(response.headers['content-type'] ?? '');
        const json = isJson ? (JSON.parse(received) as unknown) : undefined;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: received, json });
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
