export interface Publication {
  /** `root`, `intermediate`, and after a renewal `intermediate-2`. */
  readonly issuer: string;
  readonly kind: 'certificate' | 'crl';
  readonly contentType: string;
  /** As text for people who install it, not as DER for programs. */
  readonly pem: boolean;
}

/** Names of files of the built-in CA below `/ca/`. */
export const publicationPattern = /^(root|intermediate)(-[1-9]\d{0,5})?\.(cer|crl|pem)$/;

/** Those that every CA has. */
export const publicationExamples = [
  'root.cer',
  'intermediate.cer',
  'root.crl',
  'intermediate.crl',
  'root.pem',
] as const;

const contentTypes: Readonly<Record<string, string>> = {
  // RFC 2585, section 4.1, for the CA Issuers of RFC 5280, section 4.2.2.1.
  cer: 'application/pkix-cert',
  // RFC 2585, section 4.2, for the distribution points of RFC 5280, section 4.2.1.13.
  crl: 'application/pkix-crl',
  pem: 'application/x-pem-file',
};

export const publicationTypes: readonly string[] = Object.values(contentTypes);

/** @returns undefined when there is no such file of any CA */
export function publicationOf(file: string): Publication | undefined {
  const [, role, number = '', extension = ''] = publicationPattern.exec(file) ?? [];
  const contentType = contentTypes[extension];
  const isText = extension === 'pem';
  if (contentType === undefined || (isText && role !== 'root')) return undefined;
  const kind = extension === 'crl' ? 'crl' : 'certificate';
  return { issuer: `${role}${number}`, kind, contentType, pem: isText };
}
