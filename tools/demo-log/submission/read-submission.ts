import { type Issued, readIssued, transparencyTbs } from '@certwright/ct';
import { sha256 } from '../log/sha256';
import { type Submission } from '../log/ct-log';
import { uint, vector } from '../log/tls';
import { type ChainRules, checkedChain, type Link, SubmissionFault } from './chain';
import { finalTbs, precertificateSigning } from './precertificate-tbs';

export type SubmittedKind = 'certificate' | 'precertificate';

/** LogEntryType (RFC 6962, section 3.1). */
const entryTypes = { certificate: 0, precertificate: 1 } as const satisfies Record<SubmittedKind, number>;

/** Critical, and NULL inside (section 3.1). */
const poison = Buffer.from('3013060a2b06010401d6790204030101ff04020500', 'hex');

/**
 * The logged part of a chain (RFC 6962, sections 3.1 and 3.2).
 *
 * @param ders the submitted certificate first
 * @throws SubmissionFault
 */
export function readSubmission(ders: readonly Buffer[], kind: SubmittedKind, rules: ChainRules): Submission {
  const chain = checkedChain(ders, rules);
  const [submitted, ...above] = chain as readonly [Link, ...Link[]];
  const issued = readIssued(submitted.der, kind);
  refuseOdd(issued, kind);
  const issuers = above.map(({ der }) => der);
  if (kind === 'certificate') {
    const bytes = Buffer.concat([uint(entryTypes.certificate, 2), vector(3, submitted.der)]);
    return { bytes, precertificateDer: null, issuers };
  }
  const { tbs, issuer } = precertificateParts(issued, above);
  const issuerKey = readIssued(issuer.der, 'certificate').spkiDer ?? Buffer.alloc(0);
  const bytes = Buffer.concat([uint(entryTypes.precertificate, 2), sha256(issuerKey), vector(3, tbs)]);
  return { bytes, precertificateDer: submitted.der, issuers };
}

/** The TBSCertificate and the issuer of the final certificate. */
function precertificateParts(issued: Issued, [signer, next]: readonly Link[]): { tbs: Buffer; issuer: Link } {
  const tbs = transparencyTbs(issued);
  if (tbs === null || signer === undefined) throw new SubmissionFault('The precertificate has no issuer.');
  // keyUsage is Node's name for the extended key usages.
  const usages: readonly string[] | undefined = signer.x509.keyUsage;
  if (usages?.includes(precertificateSigning) !== true) return { tbs, issuer: signer };
  if (next === undefined)
    throw new SubmissionFault('The precertificate signing certificate has no issuer in the chain.');
  return { tbs: finalTbs(tbs, signer.der), issuer: next };
}

/** Refuses malformed certificates that OpenSSL tolerates, so that all parsers agree on an entry. */
const refusedFaults = ['no_tbs', 'trailing_bytes', 'ber_length', 'cut_off', 'missing_part'] as const;

function refuseOdd({ faults, hasPoison, bytes, extensions }: Issued, kind: SubmittedKind): void {
  const fault = faults.find((each) => refusedFaults.some((refused) => refused === each));
  if (fault !== undefined) throw new SubmissionFault(`The ${kind} is malformed (${fault}).`);
  if (kind === 'certificate') {
    if (hasPoison) throw new SubmissionFault('This is a precertificate: submit it with add-pre-chain.');
    return;
  }
  const isPoisoned = extensions.removed.some(({ at, next }) => poison.equals(bytes.subarray(at, next)));
  if (!isPoisoned)
    throw new SubmissionFault('A precertificate must have a critical poison extension that contains NULL.');
}
