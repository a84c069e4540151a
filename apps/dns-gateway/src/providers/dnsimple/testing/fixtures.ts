import type { ApiReply } from '../../testing/api-server';

/** Bodies from https://developer.dnsimple.com/v2/. */
export interface ZoneRecord {
  readonly id: number;
  readonly zone_id: string;
  readonly parent_id: number | null;
  readonly name: string;
  readonly content: string;
  readonly ttl: number;
  readonly priority: number | null;
  readonly type: string;
  readonly regions: readonly string[];
  readonly system_record: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface SentRecord {
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly ttl?: number;
}

export const record = (
  id: number,
  zone_id: string,
  { name, type, content, ttl = 3_600 }: SentRecord,
): ZoneRecord => ({
  id,
  zone_id,
  parent_id: null,
  name,
  content,
  ttl,
  priority: null,
  type,
  regions: ['global'],
  system_record: false,
  created_at: '2026-10-05T09:51:35Z',
  updated_at: '2026-10-05T09:51:35Z',
});

export const zone = (id: number, name: string, secondary: boolean): object => ({
  id,
  account_id: 1010,
  name,
  reverse: false,
  secondary,
  last_transferred_at: null,
  active: true,
  created_at: '2015-04-23T07:40:03Z',
  updated_at: '2015-04-23T07:40:03Z',
});

const account = {
  id: 1010,
  email: 'example-account@example.com',
  plan_identifier: 'dnsimple-professional',
  created_at: '2015-09-18T23:04:37Z',
  updated_at: '2016-06-09T20:03:39Z',
};

const user = {
  id: 1,
  email: 'example-user@example.com',
  created_at: '2015-09-18T23:04:37Z',
  updated_at: '2016-06-09T20:03:39Z',
};

export const whoamiAccount: ApiReply = { status: 200, body: { data: { user: null, account } } };
export const whoamiUser: ApiReply = { status: 200, body: { data: { user, account: null } } };

export const accessToken = (access_token: string): ApiReply => ({
  status: 200,
  body: { access_token, token_type: 'bearer', scope: null, account_id: 1010 },
});

export const oauthRefusal = (status: number, error: string): ApiReply => ({
  status,
  body: { error, error_description: 'The provided authorization grant is invalid.' },
});

export const unauthorized: ApiReply = { status: 401, body: { message: 'Authentication failed' } };

export const zoneNotFound = (name: string): ApiReply => ({
  status: 404,
  body: { message: `Zone \`${name}\` not found` },
});

export const recordNotFound = (id: string): ApiReply => ({
  status: 404,
  body: { message: `Record \`${id}\` not found` },
});

export const invalid = (errors: object): ApiReply => ({
  status: 400,
  body: { message: 'Validation failed', errors },
});

export const duplicate: ApiReply = {
  status: 400,
  body: { message: 'Zone record already exists', errors: { base: ['Zone record already exists'] } },
};
