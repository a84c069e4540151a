import type { RecordedRequest } from '../../testing/api-server';
import { type AwsCredentials, signed, type SigningScope } from '../signature';

/** Whether a received request is signed with these keys: signs the received content again and compares. */
export function isSigned(request: RecordedRequest, keys: AwsCredentials, scope: SigningScope): boolean {
  const given = request.headers;
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(given['x-amz-date'] ?? '');
  if (time === null) return false;
  const [, year, month, day, hour, minute, second] = time;
  const names = /SignedHeaders=([^,]+)/.exec(given['authorization'] ?? '')?.[1]?.split(';') ?? [];
  const kept = names.filter((name) => name !== 'host' && !name.startsWith('x-amz-'));
  // The path as seen by the client, including the prefix of the local server.
  const search = [...request.query].map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const again = signed(
    {
      method: request.method as 'GET',
      url: `http://${given['host']}${request.path}${search === '' ? '' : `?${search}`}`,
      headers: Object.fromEntries(kept.map((name) => [name, given[name] ?? ''])),
      body: request.body,
    },
    keys,
    scope,
    new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`),
  );
  return again.headers['authorization'] === given['authorization'];
}

const encode = (text: string): string => encodeURIComponent(text).replace(/\*/g, '%2A');
