import { createHash } from 'node:crypto';
import { parsePublicName } from '@certwright/dns-names';
import { type FieldFault, Problem } from '@certwright/errors';
import { csrFaultMessage } from '@certwright/outcome-messages';
import { checkCsr, readCsr } from '@certwright/pki';
import {
  ReadBy,
  type ReadMembers,
  SentBytes,
  TextLine,
  timestamp,
  Unreadable,
  validMembers,
} from '@certwright/service';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { noSuchKnownKey, tooManyKnownObjects } from '../wire/problems';
import { Digest, documentedDigest } from './digest-member';
import type { KnownKind, NewKnownObject } from './known-kind';
import type { KnownRow } from './known-objects.repository';
import { derOf, pemType } from './sent-der';

/** Of one known key; as many as an order may have. */
export const maxNames = 100;

const pubkeySha256 = 'SHA-256 over the DER SubjectPublicKeyInfo';

const documentedNames: ApiPropertyOptions = {
  type: [String],
  minItems: 1,
  maxItems: maxNames,
  example: ['*.example.com', 'example.com'],
  description:
    'For which the key is known: domains or wildcards. Kept sorted, in lower case, as A-labels, without duplicates.',
};

/** A key that the account uses for certificates elsewhere. */
export class KnownKeySchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty(documentedDigest(pubkeySha256))
  pubkey_sha256: string;

  @ApiProperty(documentedNames)
  dns_names: readonly string[];

  @ApiProperty()
  note: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** The JSON body of a POST. */
export class KnownKeyRequest {
  @Digest(pubkeySha256)
  pubkey_sha256: Buffer;

  @ApiProperty(documentedNames)
  @ReadBy(readNames, { isRequired: true })
  dns_names: readonly string[];

  @TextLine()
  note?: string;
}

export interface KnownKeyRow extends KnownRow {
  readonly spki_sha256: Buffer;
  readonly dns_names: readonly string[];
}

export const knownKeys: KnownKind<KnownKeyRow> = {
  object: 'known_key',
  resource: 'known_keys',
  json: ({ id, spki_sha256, dns_names, note, created_at }): KnownKeySchema => ({
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(id),
    pubkey_sha256: spki_sha256.toString('hex'),
    dns_names,
    note,
    created_at: timestamp(created_at),
  }),
  notFound: noSuchKnownKey,
  tooMany: () => tooManyKnownObjects('known keys'),
};

/** Media types of a CSR. */
export const csrTypes: readonly string[] = [pemType, 'application/pkcs10'];

/** @throws Problem `bad_request` with everything that is wrong */
export function knownKeyOf(body: SentBytes | ReadMembers<KnownKeyRequest>): NewKnownObject {
  if (body instanceof SentBytes) return keyOfCsr(body);
  const { pubkey_sha256, dns_names, note } = validMembers(body);
  return { identity: identityOf(pubkey_sha256, dns_names), note };
}

/** The signature proves that the account has the private key; the names are those of the CSR. */
function keyOfCsr(body: SentBytes): NewKnownObject {
  const der = derOf(body, ['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST']);
  if (der === null) {
    const message = 'The body is not one PEM block with the label CERTIFICATE REQUEST.';
    throw Problem.ofFields([{ field: 'csr', code: 'malformed_csr', message }]);
  }
  const reading = readCsr(der);
  const expected = { keyType: undefined, dnsNames: [], rule: { mustNameEveryDnsName: false } };
  const faults = reading.ok ? checkCsr(reading.csr, expected, { keyBlocked: false }) : reading.faults;
  const names = reading.ok ? readNames(reading.csr.subjectAlternativeNames?.dnsNames ?? []) : [];
  const nameFaults = names instanceof Unreadable ? names.faults : [];
  if (!reading.ok || names instanceof Unreadable || faults.length > 0) {
    throw Problem.ofFields([
      ...faults.map((fault): FieldFault => ({
        field: 'csr',
        code: fault.code,
        message: csrFaultMessage(fault, 'request'),
      })),
      ...nameFaults.map(({ code, message }) => ({
        field: 'csr',
        code,
        message: `Subject alternative names: ${message}`,
      })),
    ]);
  }
  return { identity: identityOf(Buffer.from(reading.csr.spkiSha256, 'hex'), names), note: undefined };
}

function readNames(value: unknown): readonly string[] | Unreadable {
  if (value === undefined) return new Unreadable([{ code: 'missing_field', message: 'It is required.' }]);
  if (!Array.isArray(value)) return Unreadable.because('It must be an array of strings.');
  if (value.length === 0) return Unreadable.because('At least one DNS name is needed.');
  if (value.length > maxNames) {
    const message = `A known key has ${maxNames} DNS names at most; ${value.length} were sent.`;
    return new Unreadable([{ code: 'too_many_names', message }]);
  }
  const parsed = value.map(parsePublicName);
  const faults = parsed.filter((each) => !each.ok);
  if (faults.length > 0) return new Unreadable(faults.map(({ code, message }) => ({ code, message })));
  return [...new Set(parsed.flatMap((each) => (each.ok ? [each.name] : [])))].sort();
}

/** @param names sorted */
export function identityOf(spkiSha256: Buffer, names: readonly string[]): NewKnownObject['identity'] {
  return {
    spki_sha256: spkiSha256,
    dns_names: names,
    dns_names_sha256: createHash('sha256').update(names.join('\n')).digest(),
  };
}
