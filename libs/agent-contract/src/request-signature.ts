import { createHash, type KeyObject, sign, verify } from 'node:crypto';
import { isAgentId, signatureBytes } from './keys';
import { limits } from './limits';

export interface SignedRequest {
  /** Upper case. */
  readonly method: string;
  /** As sent, percent-encoded, without the query: `/api/v3/agent/state`. */
  readonly path: string;
  /** `''`, or as sent with its question mark: `?after=0&wait=50`. */
  readonly query: string;
  /** Empty for GET. */
  readonly body: Uint8Array;
}

export interface SignatureHeaders {
  readonly 'content-digest': string;
  readonly 'signature-input': string;
  readonly signature: string;
}

/** The headers of a request as Node has them: names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface ParsedSignature {
  readonly keyid: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly contentDigest: string;
  /** The parameters as sent: the value of `@signature-params`. */
  readonly params: string;
  readonly signature: Uint8Array;
}

export type SignatureFault =
  /** A header is missing, repeated or not in the one form of the protocol. */
  | 'malformed'
  | 'unknown_key'
  /** The body is not the one that was signed. */
  | 'bad_digest'
  | 'bad_signature'
  /** Everything else is right. */
  | 'clock_skew';

export type SignatureVerdict =
  | { readonly ok: true; readonly agentId: string; readonly created: Date; readonly offsetS: number }
  /** `offsetS` of `clock_skew`: by how many seconds the clock of the sender is ahead. */
  | { readonly ok: false; readonly fault: SignatureFault; readonly offsetS?: number };

/** RFC 9421, section 2.3: so that the signature of one protocol is none of another one. */
const tag = 'certwright-agent';
const label = 'sig1';
const components = '("@method" "@path" "@query" "content-digest")';

/** The only form of the parameters. `created` has no leading zero and at most 11 digits. */
const paramsPattern =
  /^\("@method" "@path" "@query" "content-digest"\);created=([1-9]\d{0,10});keyid="([A-Za-z0-9_-]{22})";tag="certwright-agent"$/;
const digestPattern = /^sha-256=:[A-Za-z0-9+/]{43}=:$/;
const signaturePattern = /^sig1=:([A-Za-z0-9+/]{86}==):$/;

/** The three headers of a signed request (RFC 9421 with Ed25519, RFC 9530 with SHA-256). */
export function signRequest(
  request: SignedRequest,
  { agentId, privateKey, now }: { agentId: string; privateKey: KeyObject; now: Date },
): SignatureHeaders {
  const created = Math.floor(now.getTime() / 1000);
  const params = `${components};created=${created};keyid="${agentId}";tag="${tag}"`;
  const contentDigest = contentDigestOf(request.body);
  const signature = sign(null, signatureBase(request, contentDigest, params), privateKey);
  return {
    'content-digest': contentDigest,
    'signature-input': `${label}=${params}`,
    signature: `${label}=:${signature.toString('base64')}:`,
  };
}

/** @returns undefined unless the three headers are there once, in the one form of the protocol */
export function parseSignature(headers: RequestHeaders): ParsedSignature | undefined {
  const contentDigest = headers['content-digest'];
  const input = headers['signature-input'];
  const signatureText = headers['signature'];
  if (typeof contentDigest !== 'string' || typeof input !== 'string' || typeof signatureText !== 'string')
    return undefined;
  if (!digestPattern.test(contentDigest) || !input.startsWith(`${label}=`)) return undefined;
  const params = input.slice(label.length + 1);
  const [, created = '', keyid = ''] = paramsPattern.exec(params) ?? [];
  const [, encoded = ''] = signaturePattern.exec(signatureText) ?? [];
  const signature = Buffer.from(encoded, 'base64');
  const isCanonical = signature.length === signatureBytes && signature.toString('base64') === encoded;
  if (created === '' || !isAgentId(keyid) || !isCanonical) return undefined;
  return { keyid, created: Number(created), contentDigest, params, signature };
}

/** Whether the key made the signature. It covers the digest of the body, so the body can be read afterwards. */
export function isSignedBy(
  parsed: ParsedSignature,
  head: Omit<SignedRequest, 'body'>,
  publicKey: KeyObject,
): boolean {
  return verify(null, signatureBase(head, parsed.contentDigest, parsed.params), publicKey, parsed.signature);
}

/**
 * Validates the body and the time of a request whose signature `isSignedBy` the key. The clock comes last, so that
 * `clock_skew` means that nothing else is wrong.
 */
export function checkContent(parsed: ParsedSignature, body: Uint8Array, now: Date): SignatureVerdict {
  if (contentDigestOf(body) !== parsed.contentDigest) return { ok: false, fault: 'bad_digest' };
  const offsetS = parsed.created - Math.floor(now.getTime() / 1000);
  if (Math.abs(offsetS) > limits.maxClockSkewS) return { ok: false, fault: 'clock_skew', offsetS };
  return { ok: true, agentId: parsed.keyid, created: new Date(parsed.created * 1000), offsetS };
}

/** `isSignedBy` and `checkContent`. @param publicKey that of `keyid` */
export function checkSignature(
  parsed: ParsedSignature,
  request: SignedRequest,
  publicKey: KeyObject,
  now: Date,
): SignatureVerdict {
  if (!isSignedBy(parsed, request, publicKey)) return { ok: false, fault: 'bad_signature' };
  return checkContent(parsed, request.body, now);
}

/** Parses and checks the signature. `keyOf` returns the identity key of an agent, or null for an unknown one. */
export async function verifyRequest(
  request: SignedRequest,
  headers: RequestHeaders,
  { now, keyOf }: { now: Date; keyOf: (keyid: string) => Promise<KeyObject | null> | KeyObject | null },
): Promise<SignatureVerdict> {
  const parsed = parseSignature(headers);
  if (parsed === undefined) return { ok: false, fault: 'malformed' };
  const publicKey = await keyOf(parsed.keyid);
  if (publicKey === null) return { ok: false, fault: 'unknown_key' };
  return checkSignature(parsed, request, publicKey, now);
}

/** RFC 9530, section 2. */
function contentDigestOf(body: Uint8Array): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

/** RFC 9421, section 2.5. Section 2.2.7: the value of a missing query is `?`. */
function signatureBase(request: Omit<SignedRequest, 'body'>, contentDigest: string, params: string): Buffer {
  return Buffer.from(
    [
      `"@method": ${request.method}`,
      `"@path": ${request.path}`,
      `"@query": ${request.query === '' ? '?' : request.query}`,
      `"content-digest": ${contentDigest}`,
      `"@signature-params": ${params}`,
    ].join('\n'),
  );
}
