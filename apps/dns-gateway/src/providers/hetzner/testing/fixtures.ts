import type { ApiReply } from '../../testing/api-server';

/** Bodies from https://docs.hetzner.cloud/reference/cloud. */
export interface Rrset {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly ttl: number | null;
  readonly labels: object;
  readonly protection: { readonly change: boolean };
  readonly records: readonly { readonly value: string; readonly comment: string }[];
  readonly zone: number;
}

export const rrset = (
  zone: number,
  name: string,
  type: string,
  values: readonly string[],
  ttl: number | null,
): Rrset => ({
  id: `${name}/${type}`,
  name,
  type,
  ttl,
  labels: {},
  protection: { change: false },
  records: values.map((value) => ({ value, comment: '' })),
  zone,
});

export const zone = (id: number, name: string, mode: 'primary' | 'secondary'): object => ({
  id,
  name,
  created: '2016-01-30T23:55:00+00:00',
  mode,
  primary_nameservers: [],
  labels: {},
  protection: { delete: false },
  ttl: 3_600,
  status: 'ok',
  record_count: 0,
  authoritative_nameservers: {
    assigned: ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'],
  },
  registrar: 'other',
});

export type ActionStatus = 'running' | 'success' | 'error';

export const action = (id: number, command: string, status: ActionStatus): object => ({
  action: {
    id,
    command,
    status,
    progress: status === 'running' ? 50 : 100,
    started: '2016-01-30T23:55:00+00:00',
    finished: status === 'running' ? null : '2016-01-30T23:55:01+00:00',
    resources: [{ id: 42, type: 'zone' }],
    error: status === 'error' ? { code: 'action_failed', message: 'Action failed' } : null,
  },
});

export const refusal = (status: number, code: string, message: string): ApiReply => ({
  status,
  body: { error: { code, message, details: {} } },
});

export const unauthorized = refusal(401, 'unauthorized', 'unable to authenticate');
export const readonly = refusal(403, 'token_readonly', 'token is only allowed to perform GET requests');
export const protectedZone = refusal(403, 'protected', 'rrset is protected');
export const tooMany = refusal(403, 'resource_limit_exceeded', 'record limit exceeded');
export const notFound = refusal(404, 'not_found', 'zone not found');
export const locked = refusal(423, 'locked', 'zone is locked');
export const notUnique = refusal(409, 'uniqueness_error', 'record value must be unique');

export const invalid = (name: string, message: string): ApiReply => ({
  status: 422,
  body: {
    error: {
      code: 'invalid_input',
      message: `invalid input in field '${name}'`,
      details: { fields: [{ name, messages: [message] }] },
    },
  },
});
