import { type DerElement, parseDer } from './der/der-element';
import { DerError } from './der/der-error';
import { latin1, tags } from './der/der-primitives';
import { DerReader } from './der/der-reader';
import { booleanValue, objectIdentifierValue, octetStringValue } from './der/der-values';

export const extensionIds = {
  subjectKeyIdentifier: '2.5.29.14',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  precertificatePoison: '1.3.6.1.4.1.11129.2.4.3',
} as const;

/** Values by identifier; each is separate DER, parsed on access. */
export type Extensions = ReadonlyMap<string, Uint8Array>;

/**
 * Reads Extensions (RFC 5280, section 4.1); the same one twice is refused (section 4.2). Throws DerError.
 *
 * @param minCount 0 in a request: some software writes an empty list when no extension is requested
 */
export function readExtensions(element: DerElement, minCount: 0 | 1 = 1): Extensions {
  const extensions = new Map<string, Uint8Array>();
  for (const extension of DerReader.sequence(element, 'Extensions').rest(minCount, 'extension')) {
    const reader = DerReader.sequence(extension, 'an extension');
    const id = objectIdentifierValue(reader.next('identifier'), 'an extension identifier');
    const critical = reader.optionalUniversal(tags.boolean);
    // X.690, section 11.5: FALSE is the default, and a default is not encoded.
    if (critical !== undefined && !booleanValue(critical, 'critical')) {
      throw new DerError('an extension with its default criticality spelled out', critical.offset);
    }
    const value = octetStringValue(reader.next('value'), 'an extension value');
    reader.end();
    if (extensions.has(id)) throw new DerError(`the extension ${id} twice`, extension.offset);
    extensions.set(id, value);
  }
  return extensions;
}

export interface SubjectAlternativeNames {
  /** As written, in order. */
  readonly dnsNames: readonly string[];
  /** The kinds of the other entries, each once, in words. */
  readonly otherKinds: readonly string[];
}

/** GeneralName (RFC 5280, section 4.2.1.6), by tag number. */
const generalNameKinds = [
  'other name',
  'email address',
  'DNS name',
  'X.400 address',
  'directory name',
  'EDI party name',
  'URI',
  'IP address',
  'registered ID',
] as const;

const dnsNameTag = 2;

/** Null when the extension is missing. Throws DerError. */
export function readSubjectAlternativeNames(extensions: Extensions): SubjectAlternativeNames | null {
  const value = extensions.get(extensionIds.subjectAlternativeName);
  if (value === undefined) return null;
  const dnsNames: string[] = [];
  const otherKinds = new Set<string>();
  for (const name of DerReader.sequence(parseDer(value), 'SubjectAltName').rest(1, 'name')) {
    const kind = name.tagClass === 'context' ? generalNameKinds[name.tagNumber] : undefined;
    if (kind === undefined) throw new DerError('a subject alternative name of an unknown kind', name.offset);
    if (name.tagNumber !== dnsNameTag) otherKinds.add(kind);
    else dnsNames.push(ia5Text(name));
  }
  return { dnsNames, otherKinds: [...otherKinds] };
}

/** An IA5String under an implicit tag, which the parser could not recognize. */
function ia5Text(element: DerElement): string {
  if (element.constructed) throw new DerError('a DNS name in a constructed encoding', element.offset);
  if (element.content.some((byte) => byte > 0x7f))
    throw new DerError('a DNS name that is not ASCII; it must be an A-label (xn--)', element.offset);
  return latin1(element.content);
}
