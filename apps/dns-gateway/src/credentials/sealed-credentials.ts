import {
  type Credentials,
  type IntegrationOwner,
  type SealedContent,
  sealedContentAgeS,
  type SealedCredentials,
  sealingAlgorithms,
} from '@certwright/gateway-contract';
import { type FieldFault, Problem } from '@certwright/errors';
import { Unreadable } from '@certwright/service';
import { compactDecrypt, type CompactJWEHeaderParameters } from 'jose';
import type { CredentialKeys } from './credential-keys';
import { readCredentials } from './given-credentials';

/** Four times the content of a handle, in base64 and with a header: anything longer could not be stored anyway. */
const maxJweLength = 16_384;
/** Max time that the sealer's clock may be ahead of ours, seconds. */
const clockSkewS = 60;

/**
 * Opens credentials that were recently sealed to this gateway, for this account and provider.
 *
 * @throws Problem `invalid_value` of `credentials.jwe`, the same for every reason; `bad_request` when the content is
 *   not credentials
 */
export async function openCredentials(
  { jwe }: SealedCredentials,
  { account, provider }: Pick<IntegrationOwner, 'account' | 'provider'>,
  keys: CredentialKeys,
  now: Date,
): Promise<Credentials> {
  const content = await decrypted(jwe, keys);
  if (content?.account !== account || content.provider !== provider) throw notOpened();
  const ageS = now.getTime() / 1000 - (typeof content.issued_at === 'number' ? content.issued_at : NaN);
  if (!(ageS >= -clockSkewS && ageS <= sealedContentAgeS + clockSkewS)) throw notOpened();
  const credentials = readCredentials(content.credentials);
  if (credentials instanceof Unreadable)
    throw Problem.ofFields(
      credentials.faults.map((fault): FieldFault => ({ field: 'credentials', ...fault })),
    );
  return credentials;
}

async function decrypted(jwe: string, keys: CredentialKeys): Promise<Partial<SealedContent> | undefined> {
  if (jwe.length > maxJweLength) throw notOpened();
  try {
    const { plaintext } = await compactDecrypt(jwe, (header) => keyFor(header, keys), {
      keyManagementAlgorithms: [sealingAlgorithms.alg],
      contentEncryptionAlgorithms: [sealingAlgorithms.enc],
      // RFC 8725, section 3.6: compression before encryption reveals information about the content by its length.
      maxDecompressedLength: 0,
    });
    const content: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plaintext));
    return typeof content === 'object' && content !== null ? content : undefined;
  } catch {
    throw notOpened();
  }
}

function keyFor(header: CompactJWEHeaderParameters | undefined, keys: CredentialKeys) {
  if (header === undefined || 'zip' in header) throw notOpened();
  const key = keys.find(({ kid }) => kid === header.kid);
  if (key === undefined) throw notOpened();
  return key.privateKey;
}

const notOpened = (): Problem =>
  new Problem(
    'invalid_value',
    `The sealed credentials do not open: they must be sealed to the gateway's present key, for this account and provider, within the last ${sealedContentAgeS / 60} minutes.`,
    { field: 'credentials.jwe' },
  );
