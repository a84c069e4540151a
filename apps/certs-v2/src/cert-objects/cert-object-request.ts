import type { StoredSan } from '@certwright/core-schema';
import { parseDnsName, quoteInput } from '@certwright/dns-names';
import { containsPrivateKey } from '@certwright/errors';
import type { ApprovalMethod } from '@certwright/issuance';
import { pemFaultMessage } from '@certwright/outcome-messages';
import { type Csr, decodePem, readCsr } from '@certwright/pki';
import { messageOfCsrFault } from '../wire/outcome-messages';
import { Unreadable } from '@certwright/service';
import { ApiSchema, getSchemaPath } from '@nestjs/swagger';
import { approvalMethods, SanJson } from '../wire/approval-json';
import {
  FlagArgument,
  JsonArgument,
  readArguments,
  type Reading,
  type Sent,
  TextArgument,
  unreadable,
} from '../wire/arguments';
import { type ReasonCode, Refusal } from '../wire/reasons';
import { type CertType, certTypes } from './cert-object';
import { singleTags, SingleTagsArgument, TagsArgument } from './tags';

/**
 * A caller's arguments; undefined: omitted. `cert-object-rules.ts` checks their combination. The one that decides
 * which others are needed is read first, and the most expensive one last.
 */
@ApiSchema({ name: 'CertObjectRequest' })
export class CertObjectRequest {
  @TextArgument({ enum: certTypes }, readType) type?: CertType;
  @TextArgument({ enum: approvalMethods }, (text) => readApprovalMethod(text))
  approval_method?: ApprovalMethod;
  /** In lower case; may be empty. */
  @TextArgument({ nullable: true }, lowerCaseAddress) approver_email?: string;
  /** Null: default SANs. */
  @JsonArgument(
    {
      anyOf: [{ type: 'array', items: { $ref: getSchemaPath(SanJson) } }, { type: 'string' }],
      nullable: true,
      description: 'In a form: JSON, or the text null.',
    },
    'bad_sans',
    readSans,
  )
  sans?: readonly StoredSan[] | null;
  /** Tag → whether it is added. */
  @SingleTagsArgument() 'tags.TAGNAME'?: ReadonlyMap<string, boolean>;
  @TagsArgument() tags?: readonly string[];
  @FlagArgument({}) auto_renew?: boolean;
  @FlagArgument({}) muted?: boolean;
  /** Decoded, but not yet checked. */
  @TextArgument({ description: 'PEM PKCS#10 with the common name in CN and a country in C.' }, readCsrText)
  csr?: Csr;
}

/** @throws Refusal for the first argument that cannot be read */
export function readCertObjectRequest(given: Sent): CertObjectRequest {
  return readArguments(CertObjectRequest, { ...given, 'tags.TAGNAME': singleTags(given) });
}

export function readType(text: string): Reading<CertType> {
  return certTypes.find((type) => type === text) ?? unreadable('bad_type', 'type must be dv or ev.');
}

function readApprovalMethod(value: unknown): ApprovalMethod | Unreadable<ReasonCode> {
  const method = approvalMethods.find((each) => each === value);
  return method ?? unreadable('bad_approval_method', 'approval_method must be email, http or dns.');
}

/** ASCII only: other characters fold to ASCII letters (U+212A to k). */
function lowerCaseAddress(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export const emailNeedsApprover = 'The approval method email needs an approver_email.';

/** A certificate has at most 100 names for any product, including the common name. */
const maxSans = 99;

/**
 * Reads SAN objects as callers write them, or send back what they have read: read-only and unknown members in them are
 * ignored.
 */
function readSans(value: unknown): Reading<readonly StoredSan[] | null> {
  if (value === null) return null;
  if (!Array.isArray(value)) return badSans('sans must be null or an array of SAN objects.');
  if (value.length > maxSans)
    return badSans(`sans has ${value.length} elements; at most ${maxSans} are possible.`);
  const sans: StoredSan[] = [];
  for (const [at, each] of (value as unknown[]).entries()) {
    const san = readSan(each);
    if (san instanceof Unreadable) return withPosition(at, san);
    sans.push(san);
  }
  const names = sans.map((san) => san.value);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  return repeated === undefined ? sans : badSans(`sans has ${repeated} more than once.`);
}

function readSan(san: unknown): StoredSan | Unreadable<ReasonCode> {
  if (typeof san !== 'object' || san === null || Array.isArray(san)) {
    return badSans('must be an object with value and approval_method.');
  }
  const { type, value, approval_method, approver_email } = san as Sent;
  if ((type ?? 'dns') !== 'dns') return badSans(`type must be dns, not ${quoteInput(type)}.`);
  if (value === undefined || value === null) return badSans('value is required.');
  const parsed = parseDnsName(value);
  if (!parsed.ok) return badSans(parsed.message);
  const approvalMethod = readApprovalMethod(approval_method);
  if (approvalMethod instanceof Unreadable) return approvalMethod;
  if (approvalMethod !== 'email') return { value: parsed.name, approvalMethod, approverEmail: null };
  const address = approver_email ?? '';
  if (address === '') return unreadable('bad_approver_email', emailNeedsApprover);
  return typeof address === 'string'
    ? { value: parsed.name, approvalMethod, approverEmail: lowerCaseAddress(address) }
    : unreadable('bad_approver_email', `The approver_email of ${parsed.name} must be a string.`);
}

const badSans = (message: string) => unreadable('bad_sans', message);

/** With up to 99 of them, a message without a name must say which one it is about. */
function withPosition(at: number, { faults }: Unreadable<ReasonCode>): Unreadable<ReasonCode> {
  return new Unreadable(faults.map((fault) => ({ ...fault, message: `sans[${at}]: ${fault.message}` })));
}

/** Bytes of DER. One with 100 names of 253 bytes and an RSA key of 4096 bits has 27 KiB. Lists show many of them. */
const maxCsrBytes = 32 * 1024;

/** RFC 7468, section 7: the second label is a synonym of the first. */
const csrLabels: ReadonlySet<string> = new Set(['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST']);

/** A PKCS #10 request in PEM. Messages never contain the value. */
function readCsrText(text: string): Reading<Csr> {
  const bad = (message: string) => unreadable('bad_csr', message);
  if (containsPrivateKey(text)) {
    return bad(
      'A private key was submitted instead of a CSR. It was neither stored nor logged here, but consider it exposed: ' +
        'discard it, generate a new key, and submit a CSR, which holds the public key only.',
    );
  }
  const pem = decodePem(text, 1);
  if (!pem.ok) return bad(`The CSR must be PKCS #10 in PEM. ${pemFaultMessage(pem.fault)}`);
  const [block] = pem.blocks;
  if (block === undefined || !csrLabels.has(block.label)) {
    return bad('The PEM text is not a CERTIFICATE REQUEST.');
  }
  if (block.der.length > maxCsrBytes)
    return bad(`The CSR has ${block.der.length} bytes; at most ${maxCsrBytes} are possible.`);
  const reading = readCsr(block.der);
  return reading.ok ? reading.csr : bad(reading.faults.map(messageOfCsrFault).join(' '));
}

export function badCsr(message: string): Refusal {
  return new Refusal('bad_csr', message, { param: 'csr' });
}
