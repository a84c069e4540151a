import type { ReceivedResponse, Sent } from '@certwright/testing';
import type { RunningFront } from '@certwright/core-testing';

/** Fields of a form; as pairs where one comes more than once, as a text where it is to be exactly that. */
export type FormFields = Readonly<Record<string, string>> | readonly [string, string][] | string;

/** An account that calls the API over real HTTP. */
export class Tenant {
  constructor(
    private readonly api: Pick<RunningFront, 'call'>,
    readonly accountId: string,
    readonly apiKey: string,
    private readonly authorization = basic(apiKey, ''),
  ) {}

  get = (path: string, headers: Sent['headers'] = {}) => this.call('GET', path, { headers });

  /** As JSON; nothing at all, without a Content-Type, where `body` is left out. */
  post = (path: string, body?: unknown, headers: Sent['headers'] = {}) =>
    this.call('POST', path, { body, headers });

  postForm = (path: string, fields: FormFields, headers: Sent['headers'] = {}) =>
    this.call('POST', path, { body: encodedForm(fields), headers: { ...formType, ...headers } });

  /** The same account, by a user of it; see `asUser`. */
  as(userName: string, password: string): Tenant {
    return new Tenant(this.api, this.accountId, this.apiKey, basic(userName, password));
  }

  async call(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<ReceivedResponse> {
    return await this.api.call(method, path, {
      body,
      headers: { authorization: this.authorization, ...headers },
    });
  }
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' };

/** RFC 7617. */
export function basic(userName: string, password: string): string {
  return `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`;
}

function encodedForm(fields: FormFields): string {
  return typeof fields === 'string' ? fields : new URLSearchParams(fields).toString();
}
