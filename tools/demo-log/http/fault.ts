/** What is wrong with a request; told to its sender as it is. */
export class RequestFault extends Error {
  constructor(
    readonly status: 400 | 404 | 405 | 413 | 503,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}
