/** What a route answers with, always 200. */
export interface Answer {
  readonly type: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it is sent compressed to whoever takes that. */
  readonly compressible?: boolean;
}

export interface Call {
  readonly query: URLSearchParams;
  /** The whole body. @throws RequestFault when it is longer than a submission can be */
  readonly body: () => Promise<Buffer>;
}

export type Route = (call: Call) => Answer | Promise<Answer>;

/** Routes of one path by method. HEAD is answered like GET, without the body. */
export interface Routes {
  readonly GET?: Route;
  readonly POST?: Route;
}

/** Finds the routes of a path; undefined when there is nothing at it. */
export type FindRoutes = (path: string) => Routes | undefined;

export function json(value: unknown): Answer {
  return { type: 'application/json', body: Buffer.from(`${JSON.stringify(value)}\n`) };
}
