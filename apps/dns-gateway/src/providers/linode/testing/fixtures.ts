import type { ApiReply } from '../../testing/api-server';

/** Bodies from https://techdocs.akamai.com/linode-api/reference/. */
export interface DomainRecord {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly target: string;
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly service: string | null;
  readonly protocol: string | null;
  readonly ttl_sec: number;
  readonly tag: string | null;
  readonly created: string;
  readonly updated: string;
}

export type SentRecord = Pick<DomainRecord, 'type' | 'name' | 'target'> &
  Partial<Pick<DomainRecord, 'ttl_sec' | 'tag'>>;

export const record = (
  id: number,
  { type, name, target, ttl_sec = 0, tag = null }: SentRecord,
): DomainRecord => ({
  id,
  type,
  name,
  target,
  priority: 0,
  weight: 0,
  port: 0,
  service: null,
  protocol: null,
  ttl_sec,
  tag,
  created: '2026-01-01T00:01:01',
  updated: '2026-01-01T00:01:01',
});

export const domain = (id: number, name: string, type: 'master' | 'slave'): object => ({
  id,
  type,
  domain: name,
  status: 'active',
  soa_email: 'admin@example.org',
  description: null,
  group: null,
  tags: [],
  master_ips: [],
  axfr_ips: [],
  retry_sec: 0,
  refresh_sec: 0,
  expire_sec: 0,
  ttl_sec: 0,
});

export const invalidToken: ApiReply = { status: 401, body: { errors: [{ reason: 'Invalid Token' }] } };
export const notFound: ApiReply = { status: 404, body: { errors: [{ reason: 'Not found' }] } };

export const invalid = (reason: string, field: string): ApiReply => ({
  status: 400,
  body: { errors: [{ reason, field }] },
});
