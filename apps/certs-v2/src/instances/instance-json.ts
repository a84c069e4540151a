import { baseName } from '@certwright/dns-names';
import type { ApprovalMethod } from '@certwright/issuance';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { encodePem, readCsr, sha1Hex, sha256Hex, temporaryCertificate } from '@certwright/pki';
import {
  type ApprovalFacts,
  approvalJson,
  approvalMethods,
  type ApprovalPlaces,
  SanJson,
} from '../wire/approval-json';
import type { Expansion } from '../wire/expansion';
import { messageOfOutcome } from '../wire/outcome-messages';
import { ApiInteger, ApiList, ApiNullable } from '../wire/openapi/members';
import {
  type Attempt,
  type InstanceState,
  instanceStates,
  isExpiring,
  stateOf,
  type StoredInstance,
  wayOf,
} from './instance';

/** Data shown with an instance besides its own rows. */
export interface InstanceFacts extends ApprovalFacts {
  readonly now: Date;
}

/** Data that is the same for all instances of a deployment. */
export interface InstanceContext extends ApprovalPlaces {
  /** The product of the type ev; all others are sold as dv. */
  readonly evProduct: string;
  /** Sender of approval mails. */
  readonly mailFrom: string;
}

@ApiSchema({ name: 'InstanceApproval' })
class InstanceApprovalJson {
  @ApiProperty({ description: 'DNS name.' }) name: string;
  @ApiNullable(String, 'How it is approved.') method: ApprovalMethod | null;
  @ApiProperty({ description: 'pending or approved.' }) status: string;
  @ApiNullable(String, 'What the last check found.') problem: string | null;
}

@ApiSchema({ name: 'InstanceError' })
class InstanceErrorJson {
  @ApiProperty({ description: 'For programs.' }) code: string;
  @ApiProperty({ description: 'For people.' }) message: string;
}

/** How the names of an instance are approved. */
class InstanceApprovalsJson {
  @ApiProperty({ type: String, enum: approvalMethods, nullable: true })
  approval_method: ApprovalMethod | null;
  @ApiPropertyOptional({ description: 'If and only if approval_method is email.' }) approver_email?: string;
  @ApiPropertyOptional({ description: 'If and only if approval_method is email.' })
  approval_email_from?: string;
  @ApiList(InstanceApprovalJson, 'How far each name is.') approval: InstanceApprovalJson[];
  @ApiNullable(InstanceErrorJson, 'Error of the newest attempt.') last_error: InstanceErrorJson | null;
}

@ApiSchema({ name: 'Instance' })
export class InstanceJson extends InstanceApprovalsJson {
  @ApiInteger('Unique.') id: number;
  @ApiProperty({ enum: instanceStates }) state: InstanceState;
  @ApiProperty({ description: 'Active, with at most 30 days or a third of its time left.' })
  expiring: boolean;
  @ApiProperty({ enum: ['service', 'import'] }) source: 'service' | 'import';
  @ApiNullable(String, 'Null for imported instances.') type: string | null;
  @ApiProperty({ type: [SanJson], nullable: true }) sans: readonly SanJson[] | null;
  @ApiProperty({ description: 'Of the DER public key. SHA-256, lower-case hex.' }) pubkey_hash: string;
  @ApiNullable(
    String,
    'SHA-1 of the DER certificate, lower-case hex; of a pending instance of its temporary certificate.',
  )
  sha1_fingerprint: string | null;
  @ApiNullable(String, 'Of the DER certificate. SHA-256, lower-case hex.') sha256_fingerprint: string | null;
  @ApiNullable('integer', 'End of its validity. UNIX time in seconds.') expiration: number | null;
  @ApiPropertyOptional({ description: 'Expandable. PEM.' }) csr?: string;
  @ApiPropertyOptional({
    description: 'Expandable. PEM; of a pending instance an untrusted temporary certificate.',
  })
  crt?: string;
  @ApiPropertyOptional({
    type: [String],
    description: 'Expandable. PEM of each intermediate; the first issued crt.',
  })
  chain?: readonly string[];
  @ApiPropertyOptional({ description: 'Expandable. PEM.' }) root?: string;
  @ApiNullable(String, 'Null when there is no invoice.') invoice_id: string | null;
}

export function instanceJson(
  instance: StoredInstance,
  expansion: Expansion,
  facts: InstanceFacts,
  context: InstanceContext,
): InstanceJson {
  const { attempt, certificate } = instance;
  const state = stateOf(instance, facts.now);
  const served = certificate?.leaf ?? (state === 'pending' ? temporaryCertificateOf(instance) : null);
  return {
    id: Number(instance.id),
    state,
    expiring: state === 'active' && certificate !== null && isExpiring(certificate, facts.now),
    source: attempt === null ? 'import' : 'service',
    type: attempt === null ? null : attempt.product === context.evProduct ? 'ev' : 'dv',
    sans: attempt === null ? null : sansJson(attempt, facts, context),
    pubkey_hash: instance.spkiSha256.toString('hex'),
    // A pending instance has those of its temporary certificate: existing clients use them to recognize what is
    // installed.
    sha1_fingerprint: served === null ? null : sha1Hex(served),
    sha256_fingerprint: served === null ? null : (certificate?.sha256.toString('hex') ?? sha256Hex(served)),
    expiration: certificate === null ? null : Math.floor(certificate.notAfter.getTime() / 1_000),
    invoice_id: attempt?.invoiceNumber ?? null,
    ...ownApprovalJson(attempt, context),
    ...pemMembers(instance, served, expansion),
  };
}

/** How the common name is approved; and, beyond the contract, the state of each name and the last error. */
function ownApprovalJson(attempt: Attempt | null, { mailFrom }: InstanceContext): InstanceApprovalsJson {
  if (attempt === null) return { approval_method: null, approval: [], last_error: null };
  const way = wayOf(attempt, attempt.dnsNames[0] ?? '');
  const { lastError } = attempt;
  return {
    approval_method: way?.method ?? null,
    ...(way?.method === 'email'
      ? { approver_email: way.approverEmail ?? undefined, approval_email_from: mailFrom }
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

function sansJson(attempt: Attempt, facts: ApprovalFacts, places: ApprovalPlaces): readonly SanJson[] | null {
  if (attempt.sans === null) return null;
  return attempt.sans.map(({ value, approvalMethod: method, approverEmail }) => {
    const way = wayOf(attempt, value) ?? { method, approverEmail, recordAt: null };
    const shown = { way, recordPlace: baseName(value), ready: { dns: undefined, http: undefined } };
    return { type: 'dns', value, ...approvalJson(shown, facts, places) };
  });
}

/** Missing parts are omitted: an imported instance has no request, a canceled one no certificate. */
function pemMembers(
  { attempt, certificate }: StoredInstance,
  served: Uint8Array | null,
  expansion: Expansion,
): Pick<InstanceJson, 'csr' | 'crt' | 'chain' | 'root'> {
  const members: Pick<InstanceJson, 'csr' | 'crt' | 'chain' | 'root'> = {};
  if (expansion.has('csr') && attempt?.csr) members.csr = encodePem('CERTIFICATE REQUEST', attempt.csr);
  if (served === null) return members;
  // A temporary certificate is self-signed, so it is its own root as well.
  const { chain, root } = certificate ?? { chain: [], root: served };
  const pem = (der: Uint8Array) => encodePem('CERTIFICATE', der);
  if (expansion.has('crt')) members.crt = pem(served);
  if (expansion.has('chain')) members.chain = (chain ?? []).map(pem);
  if (expansion.has('root') && root !== null && root.length > 0) members.root = pem(root);
  return members;
}

/**
 * A server can be started with it while the instance is pending.
 *
 * @returns DER; null for an imported instance, and when the CSR was not read
 */
export function temporaryCertificateOf({ attempt, openedAt, spkiSha256 }: StoredInstance): Uint8Array | null {
  if (attempt === null || attempt.csr === null) return null;
  const key = `${attempt.issuanceId} ${spkiSha256.toString('base64')} ${openedAt.getTime()}`;
  const known = temporaryCertificates.get(key);
  if (known !== undefined) return known;
  const reading = readCsr(attempt.csr);
  if (!reading.ok) throw new Error('a stored CSR cannot be parsed');
  const { spkiDer } = reading.csr;
  const made = temporaryCertificate({ spkiDer, dnsNames: attempt.dnsNames, validFrom: openedAt });
  temporaryCertificates.set(key, made);
  if (temporaryCertificates.size > maxTemporaryCertificates) {
    const [oldest] = temporaryCertificates.keys();
    temporaryCertificates.delete(oldest ?? '');
  }
  return made;
}

/** About 1 kB each, with up to 8 kB for a hundred names. */
const maxTemporaryCertificates = 1_000;

/** Made ones, since clients read pending instances again and again. An issuance never changes its names and CSR. */
const temporaryCertificates = new Map<string, Uint8Array>();
