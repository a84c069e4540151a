import { createHash, createHmac } from 'node:crypto';
import type { ApiRequest } from '../http/call-api';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** For temporary credentials; otherwise null. */
  readonly sessionToken: string | null;
}

export interface SigningScope {
  readonly service: string;
  readonly region: string;
}

/**
 * Signs the whole request, including Host, with Signature Version 4. The URL must be exactly as sent, with its query
 * encoded by `awsQuery`.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signed(
  request: ApiRequest,
  credentials: AwsCredentials,
  { service, region }: SigningScope,
  now: Date,
): ApiRequest {
  const { host, pathname, search } = new URL(request.url);
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const date = time.slice(0, 8);
  const token: Record<string, string> =
    credentials.sessionToken === null ? {} : { 'x-amz-security-token': credentials.sessionToken };
  const headers: Readonly<Record<string, string>> = { ...request.headers, 'x-amz-date': time, ...token };

  const lines = Object.entries({ ...headers, host })
    .map(([name, value]): [string, string] => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')])
    .sort(([one], [other]) => compare(one, other));
  const names = lines.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    // Every service except S3 encodes the path of the URL a second time.
    pathname.split('/').map(awsEncoded).join('/'),
    sortedQuery(search.slice(1)),
    ...lines.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256(request.body ?? ''),
  ].join('\n');

  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = hmac(key, toSign).toString('hex');
  const credential = `Credential=${credentials.accessKeyId}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...request, headers: { ...headers, authorization } };
}

/** A query or a form in the encoding used for signatures: RFC 3986, a space as `%20`. */
export const awsQuery = (members: Readonly<Record<string, string>>): string =>
  Object.entries(members)
    .map(([name, value]) => `${awsEncoded(name)}=${awsEncoded(value)}`)
    .join('&');

const awsEncoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const sortedQuery = (query: string): string =>
  query
    .split('&')
    .filter((member) => member !== '')
    .map((member) => (member.includes('=') ? member : `${member}=`))
    .sort(compare)
    .join('&');

/** By code point; `localeCompare` would not. */
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text, 'utf8').digest();
