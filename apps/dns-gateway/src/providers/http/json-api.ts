import { ProviderFault, type ProviderFaultKind } from '../provider-fault';
import type { ApiResponse, ApiRequest } from './call-api';
import { ifDocumented, Json } from './json';
import { type ResponseReading, checkedCall, type CheckedPorts, type CheckedRequest } from './checked-call';

/** Authorization of a request. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** Secrets that must not appear in messages. */
  readonly secrets: readonly string[];
}

export interface Authorizer {
  /** Called before every request: it may fetch a new access token, or sign the request. */
  authorization(request: ApiRequest): Promise<Authorization>;
  /** Called when the API refuses authorization: true when a new one may succeed. Default: never. */
  renew?(): boolean;
}

/** Credentials that never change. */
export const fixed = (authorization: Authorization): Authorizer => ({
  authorization: () => Promise.resolve(authorization),
});

export const bearer = (token: string): Authorization => ({
  headers: { authorization: `Bearer ${token}` },
  secrets: [token],
});

/** See `ResponseReading`; called for every response with a JSON body. */
export interface JsonReading {
  readonly kindOf?: (json: Json, status: number) => ProviderFaultKind | null;
  readonly messageOf?: (json: Json) => string | null;
}

export interface JsonApiOptions extends CheckedPorts, JsonReading {
  /** Name in messages. */
  readonly provider: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly authorizer: Authorizer;
}

export interface JsonRequest extends Pick<CheckedRequest, 'method' | 'repeatable' | 'accepted'> {
  /** Created with `path`, which encodes. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface JsonResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body. An empty body has no readable members. */
  readonly json: Json;
}

/** One integration's access to a JSON API. A response that is not as documented is a `ProviderFault`. */
export class JsonApi {
  constructor(private readonly options: JsonApiOptions) {}

  async get(path: string, query?: JsonRequest['query']): Promise<Json> {
    return (await this.request({ method: 'GET', path, query })).json;
  }

  /** @throws ProviderFault; the signal's reason */
  async request(wanted: JsonRequest): Promise<JsonResponse> {
    try {
      return this.read(await this.exchange(wanted));
    } catch (error) {
      // An unauthorized request has changed nothing, so any method may be sent again.
      const again = error instanceof ProviderFault && error.kind === 'auth_failed';
      if (!again || this.options.authorizer.renew?.() !== true) throw error;
      return this.read(await this.exchange(wanted));
    }
  }

  private async exchange(wanted: JsonRequest): Promise<ApiResponse> {
    const { authorizer } = this.options;
    const plain = this.requestOf(wanted);
    const { headers, secrets } = await authorizer.authorization(plain);
    const { accepted, repeatable } = wanted;
    const request = { ...plain, headers: { ...plain.headers, ...headers }, secrets, accepted, repeatable };
    return await checkedCall(request, this.reading(), this.options);
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

  private reading(): ResponseReading {
    const { provider, kindOf, messageOf } = this.options;
    const readable = <T>(read: ((json: Json, status: number) => T | null) | undefined) => {
      if (read === undefined) return undefined;
      return ({ text, status }: ApiResponse): T | null => {
        const value = parsed(text);
        return value === undefined ? null : ifDocumented(() => read(new Json(value, provider), status));
      };
    };
    return { provider, kindOf: readable(kindOf), messageOf: readable(messageOf) };
  }

  private read({ status, headers, text }: ApiResponse): JsonResponse {
    const { provider } = this.options;
    const value = text.trim() === '' ? null : parsed(text);
    if (typeof value !== 'object') {
      throw new ProviderFault('unavailable', `${provider} did not respond with JSON (HTTP ${status}).`);
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
