import type { ApiReply } from '../../testing/api-server';

/** Bodies from https://eu.api.ovh.com/console/ and from the API itself. */
export interface ZoneRecord {
  readonly id: number;
  readonly zone: string;
  readonly subDomain: string;
  readonly fieldType: string;
  readonly target: string;
  readonly ttl: number;
}

export type SentRecord = Pick<ZoneRecord, 'subDomain' | 'fieldType' | 'target'> &
  Partial<Pick<ZoneRecord, 'ttl'>>;

/** 0: the zone's default. */
export const record = (
  id: number,
  zone: string,
  { subDomain, fieldType, target, ttl = 0 }: SentRecord,
): ZoneRecord => ({ id, zone, subDomain, fieldType, target, ttl });

const byCode = (status: number, httpCode: string, errorCode: string, message: string): ApiReply => ({
  status,
  body: { errorCode, httpCode, message },
});

export const invalidSignature = byCode(400, '400 Bad Request', 'INVALID_SIGNATURE', 'Invalid signature');
export const invalidKey = byCode(403, '403 Forbidden', 'INVALID_KEY', 'Invalid ApplicationKey');
export const invalidCredential = byCode(
  403,
  '403 Forbidden',
  'INVALID_CREDENTIAL',
  'This credential is not valid',
);
export const queryTimeOut = byCode(400, '400 Bad Request', 'QUERY_TIME_OUT', 'Query out of time');

export const notGranted: ApiReply = {
  status: 403,
  body: { class: 'Client::Forbidden', message: 'This call has not been granted' },
};

export const notFound = (member: string, value: string): ApiReply => ({
  status: 404,
  body: {
    class: 'Client::NotFound',
    message: `The requested object (${member} = ${value}) does not exist`,
  },
});

export const invalid = (message: string): ApiReply => ({
  status: 400,
  body: { class: 'Client::BadRequest', message },
});
