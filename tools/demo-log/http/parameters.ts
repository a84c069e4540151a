import { decodeBase64 } from '@certwright/pki';
import { maxChainLength } from '../submission/chain';
import { RequestFault } from './response';

const hashBytes = 32;

/** Twice the size of the longest known certificates. */
const maxCertificateBytes = 2 * 2 ** 20;

/** A whole number in decimal. @throws RequestFault */
export function numberOf(query: URLSearchParams, name: string): number {
  const text = onlyValue(query, name);
  if (!/^\d{1,15}$/.test(text)) throw new RequestFault(400, `${name} must be a whole number.`);
  return Number(text);
}

/** @throws RequestFault */
export function hashOf(query: URLSearchParams, name: string): Buffer {
  const decoded = decodeBase64(onlyValue(query, name), hashBytes);
  if (!decoded.ok || decoded.bytes.length !== hashBytes)
    throw new RequestFault(400, `${name} must be a SHA-256 in base64, percent-encoded for a URL.`);
  return Buffer.from(decoded.bytes);
}

/** The `chain` of a submission (RFC 6962, section 4.1). @throws RequestFault */
export function chainOf(body: Buffer): Buffer[] {
  const { chain } = membersOf(body);
  if (!Array.isArray(chain)) throw new RequestFault(400, 'chain must be an array of certificates in base64.');
  if (chain.length === 0 || chain.length > maxChainLength)
    throw new RequestFault(400, `chain must have 1 to ${maxChainLength} certificates.`);
  return chain.map((each: unknown, at) => {
    const decoded = typeof each === 'string' ? decodeBase64(each, maxCertificateBytes) : null;
    if (decoded?.ok !== true)
      throw new RequestFault(400, `Certificate ${at + 1} of the chain is not base64, or is too long.`);
    return Buffer.from(decoded.bytes);
  });
}

function membersOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new RequestFault(400, 'The body must be a JSON object with the member chain.');
}

function onlyValue(query: URLSearchParams, name: string): string {
  const [value, ...more] = query.getAll(name);
  if (value === undefined) throw new RequestFault(400, `The parameter ${name} is missing.`);
  if (more.length > 0) throw new RequestFault(400, `The parameter ${name} is given more than once.`);
  return value;
}
