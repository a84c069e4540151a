import { ProviderFault, type ProviderFaultKind } from '../provider-fault';
import type { ApiAnswer, ApiRequest } from './call-api';
import { ifDocumented, Json } from './json';
import { type AnswerReading, judgedCall, type JudgedPorts, type JudgedRequest } from './judged-call';

/** What a request is authorized with. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** As they must not appear anywhere. */
  readonly secrets: readonly string[];
}

export interface Authorizer {
  /** Asked before every request: it may have to fetch a new access token, or sign what is sent. */
  authorization(request: ApiRequest): Promise<Authorization>;
  /** The API did not let us in: true when a fresh authorization may do better. Default: never. */
  renew?(): boolean;
}

/** Credentials that stay as they are. */
export const fixed = (authorization: Authorization): Authorizer => ({
  authorization: () => Promise.resolve(authorization),
});

export const bearer = (token: string): Authorization => ({
  headers: { authorization: `Bearer ${token}` },
  secrets: [token],
});

/** See `AnswerReading`; asked for every answer whose body is JSON. */
export interface JsonReading {
  readonly kindOf?: (json: Json, status: number) => ProviderFaultKind | null;
  readonly wordsOf?: (json: Json) => string | null;
}

export interface JsonApiOptions extends JudgedPorts, JsonReading {
  /** As messages name it. */
  readonly provider: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly authorizer: Authorizer;
}

export interface JsonRequest extends Pick<JudgedRequest, 'method' | 'repeatable' | 'accepted'> {
  /** Made with `path`, which encodes. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface JsonAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of an empty body: nothing can be read from it. */
  readonly json: Json;
}

/** One integration's access to an API that speaks JSON; a fault for every answer that is not as documented. */
export class JsonApi {
  constructor(private readonly options: JsonApiOptions) {}

  async get(path: string, query?: JsonRequest['query']): Promise<Json> {
    return (await this.request({ method: 'GET', path, query })).json;
  }

  /** @throws ProviderFault; the signal's reason */
  async request(wanted: JsonRequest): Promise<JsonAnswer> {
    try {
      return this.read(await this.exchange(wanted));
    } catch (error) {
      // Whoever is not let in has changed nothing, so that any method may be sent again.
      const again = error instanceof ProviderFault && error.kind === 'auth_failed';
      if (!again || this.options.authorizer.renew?.() !== true) throw error;
      return this.read(await this.exchange(wanted));
    }
  }

  private async exchange(wanted: JsonRequest): Promise<ApiAnswer> {
    const { authorizer } = this.options;
    const plain = this.requestOf(wanted);
    const { headers, secrets } = await authorizer.authorization(plain);
    const { accepted, repeatable } = wanted;
    const request = { ...plain, headers: { ...plain.headers, ...headers }, secrets, accepted, repeatable };
    return await judgedCall(request, this.reading(), this.options);
  }

  private requestOf({ method, path, query = {}, headers, body }: JsonRequest): ApiRequest {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const url = `${this.options.baseUrl}${path}${search.size > 0 ? `?${search}` : ''}`;
    const typed: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return {
      method,
      url,
      headers: { accept: 'application/json', ...typed, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }

  private reading(): AnswerReading {
    const { provider, kindOf, wordsOf } = this.options;
    const readable = <T>(read: ((json: Json, status: number) => T | null) | undefined) => {
      if (read === undefined) return undefined;
      return ({ text, status }: ApiAnswer): T | null => {
        const value = parsed(text);
        return value === undefined ? null : ifDocumented(() => read(new Json(value, provider), status));
      };
    };
    return { provider, kindOf: readable(kindOf), wordsOf: readable(wordsOf) };
  }

  private read({ status, headers, text }: ApiAnswer): JsonAnswer {
    const { provider } = this.options;
    const value = text.trim() === '' ? null : parsed(text);
    if (typeof value !== 'object') {
      throw new ProviderFault('unavailable', `${provider} did not answer with JSON (HTTP ${status}).`);
    }
    return { status, headers, json: new Json(value, provider) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
