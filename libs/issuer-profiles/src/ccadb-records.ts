import { readIssued } from '@certwright/ct';
import { sha256 } from '@certwright/pki';
import { CsvFault, readCsv } from './csv';

/** What a row says; what its file has no column for is absent, what its column leaves empty is null. */
export interface ProfileFacts {
  readonly friendlyName?: string | null;
  readonly website?: string | null;
  readonly caaDomains?: readonly string[] | null;
  readonly operatorName?: string | null;
  readonly operatorWebsite?: string | null;
  readonly problemReporting?: string | null;
  readonly fullCrls?: readonly string[];
  readonly partitionedCrls?: readonly string[];
}

export interface CcadbRecord {
  readonly line: number;
  /** SHA-256 over the DER SubjectPublicKeyInfo; null: the file does not tell. */
  readonly spkiSha256: Buffer | null;
  readonly certificateSha256: Buffer | null;
  readonly subjectKeyId: Buffer | null;
  /** For a row that is about all issuers of an owner: their owner. */
  readonly owner: string | null;
  readonly facts: ProfileFacts;
}

export interface CcadbFile {
  readonly records: readonly CcadbRecord[];
  /** What is left out, and where. */
  readonly warnings: readonly string[];
}

/** Columns, by the names that they have in the published reports, in lower case. */
const columns = {
  owner: ['ca owner'],
  subordinateOwner: ['subordinate ca owner'],
  fingerprint: ['sha-256 fingerprint'],
  keyIdBase64: ['subject key identifier'],
  keyIdHex: ['subject key identifier (hex)'],
  pem: ['x.509 certificate (pem)', 'pem info', 'pem'],
  validTo: ['valid to (gmt)', 'valid to [gmt]'],
  revocation: ['revocation status'],
  fullCrl: ['full crl issued by this ca'],
  fullCrls: ['json array of all full crl urls'],
  partitionedCrls: ['json array of partitioned crls'],
  caaDomains: ['recognized caa domains', 'caa identifiers'],
  problemReporting: ['problem reporting mechanism'],
  website: ['company website', 'ca owner website', 'website'],
} as const;

type Column = keyof typeof columns;

/** As libs/ct reads them from certificates. */
const maxUrlLength = 1_024;

/**
 * Reads any of CCADB's reports with certificates (AllCertificateRecords, AllCertificatePEMs), CAA identifiers or problem reporting
 * mechanisms. Columns may stand in any order, and there may be more of them.
 *
 * @param asOf day of the file, YYYY-MM-DD: lists of certificates that had expired by then are passed over
 * @throws CsvFault
 */
export function readCcadb(text: string, asOf: string): CcadbFile {
  const [header, ...rows] = readCsv(text);
  if (header === undefined) throw new CsvFault(1, 'the file is empty');
  const names = header.fields.map((name) => name.trim().toLowerCase());
  const places = new Map<Column, number>();
  for (const [column, known] of Object.entries(columns) as [Column, readonly string[]][]) {
    const at = names.findIndex((name) => known.includes(name));
    if (at >= 0) places.set(column, at);
  }
  const warnings: string[] = [];
  const isAboutKeys = (['fingerprint', 'keyIdBase64', 'keyIdHex', 'pem'] as const).some((each) =>
    places.has(each),
  );
  if (!isAboutKeys && !places.has('owner'))
    throw new CsvFault(header.line, 'no column tells which certificates or which CA owner a row is about');
  const records = rows.map(({ line, fields }) => {
    if (fields.length !== names.length)
      throw new CsvFault(line, `${fields.length} fields where the header has ${names.length}`);
    const row = new Row(line, fields, places, warnings);
    return { ...row.identity(isAboutKeys), line, facts: row.facts(asOf, isAboutKeys) };
  });
  const known = records.filter(
    ({ spkiSha256, certificateSha256, subjectKeyId, owner }) =>
      (spkiSha256 ?? certificateSha256 ?? subjectKeyId ?? owner) !== null,
  );
  return { records: known, warnings };
}

class Row {
  constructor(
    private readonly line: number,
    private readonly fields: readonly string[],
    private readonly places: ReadonlyMap<Column, number>,
    private readonly warnings: string[],
  ) {}

  identity(isAboutKeys: boolean): Omit<CcadbRecord, 'line' | 'facts'> {
    const der = this.certificate();
    const spki = der === null ? null : readIssued(der, 'certificate').spkiDer;
    if (der !== null && spki === null) throw new CsvFault(this.line, 'the certificate cannot be read');
    return {
      spkiSha256: spki === null ? null : sha256(spki),
      certificateSha256: der === null ? this.fingerprint() : sha256(der),
      subjectKeyId: this.keyId(),
      owner: isAboutKeys ? null : this.text('owner'),
    };
  }

  facts(asOf: string, isAboutKeys: boolean): ProfileFacts {
    const operator = this.text('subordinateOwner') ?? this.text('owner');
    const website = this.url('website');
    return {
      ...(isAboutKeys && this.places.has('owner') ? { friendlyName: operator, operatorName: operator } : {}),
      ...(this.places.has('website') ? { website, operatorWebsite: website } : {}),
      ...(this.places.has('caaDomains') ? { caaDomains: this.domains() } : {}),
      ...(this.places.has('problemReporting') ? { problemReporting: this.text('problemReporting') } : {}),
      ...this.crls(asOf),
    };
  }

  /** Lists of certificates that are no longer trusted are of no use. */
  private crls(asOf: string): Pick<ProfileFacts, 'fullCrls' | 'partitionedCrls'> {
    const hasFull = this.places.has('fullCrl') || this.places.has('fullCrls');
    const validTo = this.text('validTo')?.replace(/[./]/g, '-');
    const isOver =
      (validTo !== undefined && /^\d{4}-\d\d-\d\d/.test(validTo) && validTo.slice(0, 10) < asOf) ||
      /^(?:parent cert )?revoked$/i.test(this.text('revocation') ?? '');
    const full = isOver ? [] : [...this.urls('fullCrls'), ...this.urls('fullCrl')];
    return {
      ...(hasFull ? { fullCrls: [...new Set(full)] } : {}),
      ...(this.places.has('partitionedCrls')
        ? { partitionedCrls: isOver ? [] : this.urls('partitionedCrls') }
        : {}),
    };
  }

  private text(column: Column): string | null {
    const text = this.fields[this.places.get(column) ?? -1]?.replaceAll('\u0000', '').trim() ?? '';
    return text === '' ? null : text.toWellFormed();
  }

  private url(column: Column): string | null {
    const text = this.text(column);
    return text !== null && isUrl(text) ? text : null;
  }

  /** A JSON array, or one URL, or several one after another; words such as `expired` are none. */
  private urls(column: Column): string[] {
    const text = this.text(column);
    if (text === null) return [];
    const parts = text.split(/[\s,;"'[\]]+/).filter((part) => part !== '');
    const urls = parts.filter(isUrl);
    if (urls.length < parts.length && !/^(?:expired|revoked)$/i.test(text))
      this.warnings.push(`Line ${this.line}: ${columns[column][0]} holds something that is no URL`);
    return [...new Set(urls)];
  }

  private domains(): string[] | null {
    const domains = (this.text('caaDomains') ?? '')
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter((domain) => /^(?=.{4,253}$)(?:[a-z0-9_-]{1,63}\.)+[a-z0-9-]{2,63}$/.test(domain));
    return domains.length === 0 ? null : [...new Set(domains)];
  }

  private fingerprint(): Buffer | null {
    const text = this.text('fingerprint')?.replaceAll(':', '');
    if (text === undefined) return null;
    if (!/^[0-9a-f]{64}$/i.test(text)) throw new CsvFault(this.line, 'the fingerprint is no SHA-256');
    return Buffer.from(text, 'hex');
  }

  private keyId(): Buffer | null {
    const hex = this.text('keyIdHex')?.replaceAll(':', '') ?? null;
    const base64 = this.text('keyIdBase64');
    const id =
      hex !== null && /^(?:[0-9a-f]{2})+$/i.test(hex)
        ? Buffer.from(hex, 'hex')
        : base64 !== null && /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
          ? Buffer.from(base64, 'base64')
          : null;
    return id === null || id.length < 8 || id.length > 64 ? null : id;
  }

  private certificate(): Buffer | null {
    const text = this.text('pem');
    if (text === null) return null;
    const match = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(text);
    if (match === null) throw new CsvFault(this.line, 'the certificate is no PEM');
    return Buffer.from(match[1] ?? '', 'base64');
  }
}

function isUrl(text: string): boolean {
  return text.length <= maxUrlLength && /^https?:\/\/[\x21-\x7e]+$/i.test(text) && URL.canParse(text);
}
