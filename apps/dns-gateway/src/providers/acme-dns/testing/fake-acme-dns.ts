import type { ApiReply, RecordedRequest } from '../../testing/api-server';

export const registration = {
  username: 'eabcdb41-d89f-4580-826f-3e62e9755ef2',
  password: 'pbAXVjlIOE01xbut7YnAbkhMQIkcwoHO0ek2j4Q0',
  subdomain: 'd420c923-bbd7-4056-ab64-c3ca54c9b3cf',
  fulldomain: 'd420c923-bbd7-4056-ab64-c3ca54c9b3cf.auth.example.org',
} as const;

/** acme-dns as in its README: POST /update overwrites the older of two values. */
export class FakeAcmeDns {
  /** Oldest first. */
  values: readonly string[] = ['', ''];

  readonly respond = ({ method, path, headers, body }: RecordedRequest): ApiReply => {
    if (path !== '/update') return { status: 404, body: '404 page not found\n' };
    if (method !== 'POST') return { status: 405, body: '' };
    const { username, password, subdomain } = registration;
    const update = parsed(body);
    if (update === null) return refused(400, 'malformed_json_payload');
    const isOwner = headers['x-api-user'] === username && headers['x-api-key'] === password;
    if (!isOwner || update.subdomain !== subdomain) return refused(401, 'forbidden');
    if (typeof update.txt !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(update.txt))
      return refused(400, 'bad_txt');
    this.values = [...this.values.slice(1), update.txt];
    return { status: 200, body: { txt: update.txt } };
  };
}

const refused = (status: number, error: string): ApiReply => ({ status, body: { error } });

function parsed(body: string): { readonly subdomain?: unknown; readonly txt?: unknown } | null {
  try {
    return JSON.parse(body) as object;
  } catch {
    return null;
  }
}
