/** The response of a route, always 200. */
export interface LogResponse {
  readonly type: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it is compressed for clients that accept that. */
  readonly compressible?: boolean;
}

export interface Call {
  readonly query: URLSearchParams;
  /** The whole body. @throws RequestFault when it is longer than a submission can be */
  readonly body: () => Promise<Buffer>;
}

export type Route = (call: Call) => LogResponse | Promise<LogResponse>;

/** Routes of one path by method. HEAD is handled like GET, without the body. */
export interface Routes {
  readonly GET?: Route;
  readonly POST?: Route;
}

/** Finds the routes of a path; undefined for an unknown path. */
export type FindRoutes = (path: string) => Routes | undefined;

export function json(value: unknown): LogResponse {
  return { type: 'application/json', body: Buffer.from(`${JSON.stringify(value)}\n`) };
}

/** An error of a request; its message is part of the response. */
export class RequestFault extends Error {
  constructor(
    readonly status: 400 | 404 | 405 | 413 | 503,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}
