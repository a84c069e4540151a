import type { Request } from './fake-acme-server';

export interface FakeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Order {
  status: string;
  readonly names: readonly string[];
  finalizations: number;
}

/** 128 bits in base64url. */
const token = 'a'.repeat(22);

/** State of an ACME server: orders with one authorization each, valid as soon as they are finalized. */
export class FakeAcmeOrders {
  readonly orders: Order[] = [];
  #nonces = 0;
  readonly #spent = new Set<string>();

  constructor(
    readonly base: string,
    readonly chain: string,
  ) {}

  answer({ method, path, jws }: Request): FakeResponse {
    if (method === 'GET' || method === 'HEAD') return this.#plain(path);
    const { nonce } = decoded(jws?.protected) as { nonce: string };
    if (this.#spent.has(nonce) || !/^nonce-\d+$/.test(nonce))
      return this.#problem(400, 'badNonce', 'used before');
    this.#spent.add(nonce);
    const [, resource = '', number = '0'] = path.split('/');
    return this.#posted(resource, Number(number), decoded(jws?.payload), `${this.base}/order/${number}`);
  }

  #plain(path: string): FakeResponse {
    if (path.startsWith('/renewal/')) {
      const suggestedWindow = { start: '2030-01-01T00:00:00Z', end: '2030-01-02T00:00:00Z' };
      return json({ suggestedWindow });
    }
    const url = (name: string) => `${this.base}/${name}`;
    const names = ['newNonce', 'newAccount', 'newOrder', 'revokeCert', 'keyChange', 'renewal'] as const;
    const directory = Object.fromEntries(
      names.map((name) => [name === 'renewal' ? 'renewalInfo' : name, url(name)]),
    );
    return path === '/newNonce' ? { ...json({}), headers: this.#nonce(), body: '' } : json(directory);
  }

  #posted(
    resource: string,
    number: number,
    payload: Readonly<Record<string, unknown>>,
    url: string,
  ): FakeResponse {
    switch (resource) {
      case 'newAccount':
        return this.#json(201, { status: 'valid' }, `${this.base}/account/1`);
      case 'newOrder': {
        const identifiers = payload['identifiers'] as { value: string }[];
        this.orders.push({ status: 'ready', names: identifiers.map(({ value }) => value), finalizations: 0 });
        return this.#order(201, this.orders.length - 1);
      }
      case 'order':
        return this.#order(200, number);
      case 'finalize':
        return this.#finalize(number, url);
      case 'certificate': {
        const headers = { ...this.#nonce(), 'content-type': 'application/pem-certificate-chain' };
        return { status: 200, headers, body: this.chain };
      }
      case 'authorization':
        return this.#json(200, this.#authorization(number));
      case 'challenge':
        return this.#json(200, this.#authorization(number).challenges[0] ?? {});
      default:
        return this.#json(200, { status: 'valid' });
    }
  }

  #finalize(number: number, url: string): FakeResponse {
    const order = this.#at(number);
    if (order.status !== 'ready') return this.#problem(403, 'orderNotReady', 'finalized before');
    order.status = 'valid';
    order.finalizations += 1;
    return { ...this.#order(200, number), headers: { ...this.#order(200, number).headers, location: url } };
  }

  #order(status: number, number: number): FakeResponse {
    const { names, status: state } = this.#at(number);
    const body = {
      status: state,
      identifiers: names.map((value) => ({ type: 'dns', value })),
      authorizations: [`${this.base}/authorization/${number}`],
      finalize: `${this.base}/finalize/${number}`,
      ...(state === 'valid' ? { certificate: `${this.base}/certificate/${number}` } : {}),
    };
    return this.#json(status, body, `${this.base}/order/${number}`);
  }

  #authorization(number: number) {
    const challenge = { type: 'dns-01', status: 'valid', url: `${this.base}/challenge/${number}`, token };
    const identifier = { type: 'dns', value: this.#at(number).names[0] };
    return { status: 'valid', identifier, challenges: [challenge] };
  }

  #at(number: number): Order {
    return this.orders[number] ?? { status: 'invalid', names: ['one.example.com'], finalizations: 0 };
  }

  #problem(status: number, type: string, detail: string): FakeResponse {
    const body = JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail });
    return { status, headers: { ...this.#nonce(), 'content-type': 'application/problem+json' }, body };
  }

  #json(status: number, body: object, location?: string): FakeResponse {
    const headers = {
      ...json({}).headers,
      ...this.#nonce(),
      ...(location === undefined ? {} : { location }),
    };
    return { status, headers, body: JSON.stringify(body) };
  }

  #nonce() {
    this.#nonces += 1;
    return { 'replay-nonce': `nonce-${this.#nonces}` };
  }
}

function json(body: object): FakeResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function decoded(text = ''): Readonly<Record<string, unknown>> {
  const json = Buffer.from(text, 'base64url').toString('utf8');
  return json === '' ? {} : (JSON.parse(json) as Record<string, unknown>);
}
