import { baseName } from '@certwright/dns-names';
import { encodePem, readCsr, sha1Hex, sha256Hex, temporaryCertificate } from '@certwright/pki';
import { type ApprovalFacts, approvalJson, type ApprovalPlaces } from '../wire/approval-json';
import type { Expansion } from '../wire/expansion';
import { messageOfOutcome } from '../wire/outcome-messages';
import { type Attempt, isExpiring, stateOf, type StoredInstance, wayOf } from './instance';

/** What an instance is shown with besides its own rows. */
export interface InstanceFacts extends ApprovalFacts {
  readonly invoiceNumber: string | null;
  readonly now: Date;
}

/** What is the same for all instances of a deployment. */
export interface InstanceSurroundings extends ApprovalPlaces {
  /** The product that the type ev stands for; every other one is sold as dv. */
  readonly evProduct: string;
  /** Sender of approval mails. */
  readonly mailFrom: string;
}

export function instanceJson(
  instance: StoredInstance,
  expansion: Expansion,
  facts: InstanceFacts,
  surroundings: InstanceSurroundings,
): object {
  const { attempt, certificate } = instance;
  const state = stateOf(instance, facts.now);
  const served = certificate?.leaf ?? temporaryCertificateOf(instance);
  return {
    id: Number(instance.id),
    state,
    expiring: state === 'active' && certificate !== null && isExpiring(certificate, facts.now),
    source: attempt === null ? 'import' : 'service',
    type: attempt === null ? null : attempt.product === surroundings.evProduct ? 'ev' : 'dv',
    sans: attempt === null ? null : sansJson(attempt, facts, surroundings),
    pubkey_hash: instance.spkiSha256.toString('hex'),
    // Of a pending instance those of its temporary certificate: existing clients recognize by them what is installed.
    sha1_fingerprint: served === null ? null : sha1Hex(served),
    sha256_fingerprint: served === null ? null : (certificate?.sha256.toString('hex') ?? sha256Hex(served)),
    expiration: certificate === null ? null : Math.floor(certificate.notAfter.getTime() / 1_000),
    invoice_id: facts.invoiceNumber,
    ...ownApprovalJson(attempt, surroundings),
    ...pemMembers(instance, served, expansion),
  };
}

/** How the common name is approved; and, beyond the contract, how far each name is and what went wrong last. */
function ownApprovalJson(attempt: Attempt | null, { mailFrom }: InstanceSurroundings): object {
  if (attempt === null) return { approval_method: null, approval: [], last_error: null };
  const way = wayOf(attempt, attempt.dnsNames[0] ?? '');
  const { lastError } = attempt;
  return {
    approval_method: way?.method ?? null,
    ...(way?.method === 'email'
      ? { approver_email: way.approverEmail, approval_email_from: mailFrom }
      : undefined),
    approval: attempt.approvals.map(({ dnsName, status, method, problem }) => ({
      name: dnsName,
      method: wayOf(attempt, dnsName)?.method ?? method,
      status,
      problem: messageOfOutcome(problem),
    })),
    last_error:
      lastError === null ? null : { code: lastError.code, message: messageOfOutcome(lastError.outcome) },
  };
}

function sansJson(attempt: Attempt, facts: ApprovalFacts, places: ApprovalPlaces): readonly object[] | null {
  if (attempt.sans === null) return null;
  return attempt.sans.map(({ value, approvalMethod: method, approverEmail }) => {
    const way = wayOf(attempt, value) ?? { method, approverEmail, recordAt: null };
    const shown = { way, recordPlace: baseName(value), ready: { dns: undefined, http: undefined } };
    return { type: 'dns', value, ...approvalJson(shown, facts, places) };
  });
}

/** What does not exist is left out: an imported instance has no request, a canceled one no certificate. */
function pemMembers(
  { attempt, certificate }: StoredInstance,
  served: Uint8Array | null,
  expansion: Expansion,
): object {
  const members: Record<string, string | readonly string[]> = {};
  if (expansion.has('csr') && attempt?.csr) members['csr'] = encodePem('CERTIFICATE REQUEST', attempt.csr);
  if (served === null) return members;
  // A temporary certificate is its own issuer, so it stands for its root as well.
  const { chain, root } = certificate ?? { chain: [], root: served };
  const pem = (der: Uint8Array) => encodePem('CERTIFICATE', der);
  if (expansion.has('crt')) members['crt'] = pem(served);
  if (expansion.has('chain')) members['chain'] = (chain ?? []).map(pem);
  if (expansion.has('root') && root !== null && root.length > 0) members['root'] = pem(root);
  return members;
}

/**
 * A server can be started with it while the instance is pending.
 *
 * @returns DER; null when the instance is not pending
 */
function temporaryCertificateOf({ attempt, openedAt }: StoredInstance): Uint8Array | null {
  if (attempt === null || attempt.state !== 'open' || attempt.csr === null) return null;
  const reading = readCsr(attempt.csr);
  if (!reading.ok) throw new Error('a CSR that was accepted cannot be read any more');
  const { spkiDer } = reading.csr;
  return temporaryCertificate({ spkiDer, dnsNames: attempt.dnsNames, validFrom: openedAt });
}
