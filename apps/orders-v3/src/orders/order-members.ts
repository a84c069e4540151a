import { objectNameFault } from '@certwright/accounts';
import { parseDnsName, parseDnsNames, quoteInput } from '@certwright/dns-names';
import { type Csr, decodeCsrField, readCsr } from '@certwright/pki';
import { ReadBy, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { csrFaults } from '../wire/outcome-messages';
import type { Order, OrderCsr } from './order';

/** An order may have 100 names. A caller that sends more than ten times as many gets one fault for all of them. */
const maxEntries = 1_000;

type Fault = Unreadable['faults'][number];

/** The member `name`. */
export const NameMember = (
  description = 'Identifies the order in URLs. Defaults to the first DNS name. Cannot change after creation.',
) =>
  applyDecorators(
    ApiPropertyOptional({ type: String, maxLength: 255, description }),
    ReadBy((value) => {
      if (typeof value !== 'string') return Unreadable.because('It must be a string.');
      const fault = objectNameFault(value);
      return fault === null ? value : Unreadable.because(`The name ${fault}.`);
    }),
  );

/** Documents `dns_names` of requests and responses. */
export const documentedDnsNames: ApiPropertyOptions = {
  type: [String],
  example: ['example.com', '*.example.com'],
  description:
    'Domains, sub-domains or wildcards, each part of a public domain. Kept in lower case, internationalized names as A-labels, duplicates removed.',
};

/** The member `dns_names`: becomes A-labels in lower case without duplicates. */
export const DnsNames = () =>
  applyDecorators(
    ApiPropertyOptional({
      ...documentedDnsNames,
      minItems: 1,
      maxItems: 100,
      description: `${documentedDnsNames.description} Required on creation.`,
    }),
    ReadBy(readDnsNames),
  );

function readDnsNames(value: unknown): readonly string[] | Unreadable {
  if (!Array.isArray(value)) return Unreadable.because('It must be an array of strings.');
  if (value.length === 0) return Unreadable.because('It must have at least one entry.');
  if (value.length > maxEntries) {
    const message = `An order has 100 DNS names at most; ${value.length} entries were sent.`;
    return new Unreadable([{ code: 'too_many_names', message }]);
  }
  const { names, faults } = parseDnsNames(value);
  if (faults.length === 0) return names;
  return new Unreadable(
    faults.map(({ input, code, message }): Fault =>
      typeof input === 'string'
        ? { code, message }
        : { code: 'invalid_value', message: 'Each entry must be a string.' },
    ),
  );
}

/** The member `approver_emails`: becomes DNS names in normal form and addresses in lower case. */
export const ApproverEmails = () =>
  applyDecorators(
    ApiPropertyOptional({
      type: 'object',
      additionalProperties: { type: 'string', format: 'email' },
      example: { 'example.com': 'hostmaster@example.com' },
      description:
        'DNS name → address that may approve it by email. Only admin, administrator, hostmaster, postmaster and webmaster at the name or a parent. Only for products that support it.',
    }),
    ReadBy(readApproverEmails),
  );

function readApproverEmails(value: unknown): Order['approverEmails'] | Unreadable {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return Unreadable.because('It must be an object that maps DNS names to addresses.');
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (entries.length > maxEntries)
    return Unreadable.because(`It has ${entries.length} members; an order has 100 DNS names at most.`);
  const addresses = new Map<string, string>();
  const faults: Fault[] = [];
  const invalid = (message: string) => void faults.push({ code: 'invalid_value', message });
  for (const [key, address] of entries) {
    const parsed = parseDnsName(key);
    if (!parsed.ok) {
      const message = `${quoteInput(key)} is not one of the order's DNS names.`;
      faults.push({ code: 'invalid_approver', message });
    } else if (typeof address !== 'string') {
      invalid(`The address of ${parsed.name} must be a string.`);
    } else if ((addresses.get(parsed.name) ?? lowerCase(address)) !== lowerCase(address)) {
      invalid(`${parsed.name} has two different addresses.`);
    } else {
      addresses.set(parsed.name, lowerCase(address));
    }
  }
  return faults.length === 0 ? Object.fromEntries(addresses) : new Unreadable(faults);
}

/** ASCII alone: other characters fold to ASCII letters (U+212A to k). */
function lowerCase(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The member `cluster`. */
export const ClusterName = () =>
  applyDecorators(
    ApiPropertyOptional({
      type: String,
      nullable: true,
      default: null,
      description:
        'Name of the agent cluster that manages the order; null: unmanaged. A change resets csr to null.',
    }),
    ReadBy((value) =>
      value === null || typeof value === 'string'
        ? value
        : Unreadable.because('It must be a string or null.'),
    ),
  );

/** A CSR as it was sent. */
export interface SentCsr extends OrderCsr {
  /** Not yet checked against the order and its product. */
  readonly content: Csr;
}

/** The member `csr`: decoded once. */
export const CsrField = () =>
  applyDecorators(
    ApiPropertyOptional({
      type: String,
      format: 'byte',
      nullable: true,
      description:
        'PKCS#10, DER, base64 on one line. Needed for unmanaged orders, refused for managed ones. RSA of 2048, 3072 or 4096 bits, or ECDSA on P-256 or P-384. For free_ca its subject alternative names are exactly the DNS names of the order.',
    }),
    ReadBy(readCsrField),
  );

function readCsrField(value: unknown): SentCsr | null | Unreadable {
  if (value === null) return null;
  if (typeof value !== 'string') return Unreadable.because('It must be a string or null.');
  const decoded = decodeCsrField(value);
  if (!decoded.ok) return new Unreadable(csrFaults(decoded.faults));
  const reading = readCsr(decoded.der);
  if (!reading.ok) return new Unreadable(csrFaults(reading.faults));
  const { csr } = reading;
  return { der: decoded.der, spkiSha256: Buffer.from(csr.spkiSha256, 'hex'), content: csr };
}
