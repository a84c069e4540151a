import { createHash, randomBytes } from 'node:crypto';
import { decodeFixed, encodeBase64url } from './base64url';
import { ContractError } from './contract-error';
import { keyBytes } from './keys';

/** What an operator brings to a new host. The seed never leaves the host; only the token is sent. */
export interface JoinSecrets {
  readonly token: string;
  /** Of the cluster key; null for a cluster of one agent, without one. */
  readonly clusterKeySeed: Uint8Array | null;
}

const prefix = 'cwj1';
const tokenBytes = 32;

/** 43 characters. The server stores only its hash. */
export function newEnrolmentToken(): string {
  return encodeBase64url(randomBytes(tokenBytes));
}

/** SHA-256 over the text of the token: 32 bytes. */
export function enrolmentTokenSha256(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export function joinString({ token, clusterKeySeed }: JoinSecrets): string {
  return [prefix, token, ...(clusterKeySeed === null ? [] : [encodeBase64url(clusterKeySeed)])].join('.');
}

/** White space around it is ignored, as files and terminals add it. @throws {ContractError} which does not repeat it */
export function parseJoinString(text: string): JoinSecrets {
  const [first, token, seed, ...rest] = text.trim().split('.');
  if (first !== prefix || token === undefined || rest.length > 0)
    throw new ContractError(
      'malformed',
      'the join string does not have the form cwj1.<token>[.<cluster key>]',
    );
  decodeFixed(token, 'the token of the join string', tokenBytes);
  return {
    token,
    clusterKeySeed:
      seed === undefined ? null : decodeFixed(seed, 'the cluster key of the join string', keyBytes),
  };
}
