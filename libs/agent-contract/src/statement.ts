import { sign, verify } from 'node:crypto';
import { decodeBase64url, decodeFixed, encodeBase64url } from './base64url';
import { type ClusterKey, clusterKeySha256 } from './cluster-key';
import { ContractError } from './contract-error';
import { agentId, ed25519PublicKey, keyBytes, signatureBytes } from './keys';

/** An agent that the cluster key admitted. */
export interface Member {
  readonly agentId: string;
  /** Raw Ed25519 public key, 32 bytes. */
  readonly identityKey: Uint8Array;
  /** Raw X25519 public key, 32 bytes. */
  readonly sealingKey: Uint8Array;
  /** When the statement was made, by the clock of the enrolling host; whole seconds. */
  readonly time: Date;
}

/** Characters of the longest statement that is read. */
const maxStatementLength = 1_024;

/** The protected header (RFC 7515, section 4.1), in exactly these bytes. */
const header = encodeBase64url(Buffer.from('{"alg":"EdDSA","typ":"certwright-member+jws"}'));

/** A JWS in compact serialization (RFC 7515, RFC 8037), by which other agents know a member. */
export function signStatement(
  clusterKey: ClusterKey,
  { identityKey, sealingKey, time }: { identityKey: Uint8Array; sealingKey: Uint8Array; time: Date },
): string {
  const payload = payloadText({
    clusterKeySha256: clusterKeySha256(clusterKey.publicKey),
    identityKey: encodeBase64url(identityKey),
    sealingKey: encodeBase64url(sealingKey),
    time: `${time.toISOString().slice(0, 19)}Z`,
  });
  const input = `${header}.${encodeBase64url(Buffer.from(payload))}`;
  return `${input}.${encodeBase64url(sign(null, Buffer.from(input), clusterKey.privateKey))}`;
}

/**
 * The signature is verified first. The payload has one form: without white space, with these members in this order, so
 * there is no second reading of it (a repeated member, an escape).
 *
 * @param clusterPublicKey 32 bytes, pinned at enrolment
 * @throws {ContractError}
 */
export function verifyStatement(jws: string, clusterPublicKey: Uint8Array): Member {
  if (jws.length > maxStatementLength)
    throw new ContractError('too_large', `the statement has more than ${maxStatementLength} characters`);
  const [headerPart, payloadPart, signaturePart, ...rest] = jws.split('.');
  if (headerPart !== header || payloadPart === undefined || rest.length > 0)
    throw new ContractError('malformed', 'the statement is not a JWS with the header of a member');
  const signature = decodeFixed(signaturePart, 'the signature of the statement', signatureBytes);
  if (!verify(null, Buffer.from(`${header}.${payloadPart}`), ed25519PublicKey(clusterPublicKey), signature))
    throw new ContractError('bad_signature', 'the statement is not signed by the cluster key');
  return readPayload(payloadPart, clusterPublicKey);
}

const payloadPattern =
  /^\{"cluster_key_sha256":"([0-9a-f]{64})","identity_key":"([\w-]{43})","sealing_key":"([\w-]{43})","time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"\}$/;

function readPayload(part: string, clusterPublicKey: Uint8Array): Member {
  const bytes = decodeBase64url(part, 'the payload of the statement', {
    minBytes: 1,
    maxBytes: maxStatementLength,
  });
  const match = payloadPattern.exec(Buffer.from(bytes).toString('latin1'));
  if (match === null) throw new ContractError('malformed', 'the payload of the statement has another form');
  const [, clusterKey, identity, sealing, timeText = ''] = match;
  if (clusterKey !== clusterKeySha256(clusterPublicKey))
    throw new ContractError('mismatch', 'the statement names another cluster key');
  const time = new Date(timeText);
  if (Number.isNaN(time.getTime())) throw new ContractError('malformed', 'the statement has no valid time');
  const identityKey = decodeFixed(identity, 'the identity key of the statement', keyBytes);
  return {
    agentId: agentId(identityKey),
    identityKey,
    sealingKey: decodeFixed(sealing, 'the sealing key of the statement', keyBytes),
    time,
  };
}

function payloadText(payload: {
  clusterKeySha256: string;
  identityKey: string;
  sealingKey: string;
  time: string;
}): string {
  return JSON.stringify({
    cluster_key_sha256: payload.clusterKeySha256,
    identity_key: payload.identityKey,
    sealing_key: payload.sealingKey,
    time: payload.time,
  });
}
