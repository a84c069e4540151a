import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Repositories } from '../../testing/opened-issuance';
import type { CertificateAuthority, CertificateRequest, IssuedChain } from '../certificate-authority';

/** An adapter, its CA, and the database that stores issuances. */
export interface AuthorityWorld {
  readonly database: DataSource;
  readonly repositories: Repositories;
  /** The adapter in another process of the same deployment. */
  open(source?: DataSource): Promise<CertificateAuthority>;
  /** Number of certificates that the CA has issued or was requested to issue. */
  issuedCount(): Promise<number>;
  /** CRLReason for which the CA lists the certificate as revoked; null: it does not list it. */
  revocationReason(serialNumber: string): Promise<number | null>;
  /** Sets whether the CA responds from now on. */
  setAvailable?(isAvailable: boolean): void;
  /** The CA carries out the next request to issue, and its response is lost. */
  loseNextIssuance?(): void;
  /** References without a stored order. */
  readonly unknownReferences: readonly string[];
  close(): Promise<void>;
}

/** Documented limitations of an adapter. */
export type Inability = 'unavailable' | 'lost_answer' | 'changed_reason';

export interface AuthoritySpec {
  readonly name: string;
  setUp(): Promise<AuthorityWorld>;
  /** Each with its reason; the tests about it are skipped. */
  readonly cannot?: Partial<Record<Inability, string>>;
}

export interface Obtained {
  readonly reference: string;
  readonly issued: IssuedChain;
}

const maxTurns = 2_000;
const pauseMs = 10;

/**
 * Submits and collects like the worker, without pauses, until a certificate is issued. @param process called for each
 * call
 */
export async function obtain(
  process: () => CertificateAuthority,
  request: CertificateRequest,
): Promise<Obtained> {
  let reference: string | null = null;
  for (let turn = 0; turn < maxTurns; turn += 1) {
    reference ??= await referenceAt(process(), request);
    const collected = await process().collect(reference, request);
    if (collected.kind === 'issued') {
      await collected.issued.store?.(null);
      return { reference, issued: collected.issued };
    }
    if (collected.kind === 'rejected') throw new Error(`rejected: ${JSON.stringify(collected.error)}`);
    if (collected.kind === 'given_up') reference = null;
    await delay(pauseMs);
  }
  throw new Error('the CA did not issue');
}

/** @throws Error when the CA refuses */
export async function referenceAt(
  authority: CertificateAuthority,
  request: CertificateRequest,
): Promise<string> {
  const submitted = await authority.submit(request);
  if (submitted.kind === 'refused') throw new Error(`refused: ${JSON.stringify(submitted.error)}`);
  return submitted.reference;
}

/** Outcome of one attempt, as the worker distinguishes them. */
export type Attempt = 'issued' | 'tried again' | 'failed' | 'failed for good';

export async function attempt(
  authority: CertificateAuthority,
  request: CertificateRequest,
): Promise<Attempt> {
  try {
    const submitted = await authority.submit(request);
    if (submitted.kind === 'refused') {
      if (submitted.final) return 'failed for good';
      return submitted.stalled || submitted.until !== null ? 'tried again' : 'failed';
    }
    const collected = await authority.collect(submitted.reference, request);
    if (collected.kind === 'issued') return 'issued';
    if (collected.kind === 'rejected') return collected.final ? 'failed for good' : 'failed';
    if (collected.kind === 'given_up') return collected.refusal.final ? 'failed for good' : 'tried again';
    return 'tried again';
  } catch {
    return 'tried again';
  }
}
