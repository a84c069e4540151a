import { containsPrivateKey } from '@certwright/errors';
import { pemFaultMessage, unreadableCertificateMessage } from '@certwright/outcome-messages';
import { type Certificate, decodePem, readCertificate } from '@certwright/pki';
import { type Arguments, badParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';

/** What was sent to be imported, read and not judged yet. */
export interface SentCertificates {
  readonly leaf: Certificate;
  /** In the order that they were sent; the root may be the last of them. */
  readonly issuers: readonly Certificate[];
}

/** CAs use one or two between leaf and root; with the root, and room for what nobody has seen yet. */
const mostIssuers = 8;

/** @throws Refusal `missing_param`, `bad_param`, `bad_certificate` */
export function readImportRequest(given: Arguments): SentCertificates {
  return { leaf: readCertificateArgument(given), issuers: readChain(given) };
}

/** @throws Refusal `missing_param`, `bad_param`, `bad_certificate` */
export function readCertificateArgument(given: Arguments): Certificate {
  const [leaf] = readPem('crt', given.requiredText('crt'), 1);
  if (leaf === undefined) throw badCertificate('crt', 'must be a certificate in PEM.');
  return leaf;
}

/** One PEM text after the other, or a list of PEM texts; in a form also as the JSON of such a list. */
function readChain(given: Arguments): readonly Certificate[] {
  const text = chainText(given);
  return text.trim() === '' ? [] : readPem('chain', text, mostIssuers);
}

function chainText(given: Arguments): string {
  const text = textOf(given, 'chain');
  if (text !== undefined && !text.trimStart().startsWith('[')) return text;
  const value = given.json('chain') ?? [];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join('\n');
  throw badParam('chain', 'bad_param', 'must be certificates in PEM, or a list of such.');
}

/** @returns undefined when it is not given, or is something else */
function textOf(given: Arguments, name: string): string | undefined {
  try {
    return given.text(name);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** @param param what the text is called; the text itself is never repeated */
function readPem(param: string, text: string, most: number): readonly Certificate[] {
  if (containsPrivateKey(text)) throw badCertificate(param, privateKeySent);
  const decoded = decodePem(text, most);
  if (!decoded.ok)
    throw badCertificate(param, `must be ${certificates(most)} in PEM. ${pemFaultMessage(decoded.fault)}`);
  return decoded.blocks.map(({ label, der }) => {
    if (label !== 'CERTIFICATE')
      throw badCertificate(param, `must have CERTIFICATE blocks only, no ${label}.`);
    const reading = readCertificate(der);
    if (!reading.ok) {
      throw badCertificate(param, `cannot be read. ${unreadableCertificateMessage(reading.detail)}`);
    }
    return reading.certificate;
  });
}

const certificates = (most: number) => (most === 1 ? 'one certificate' : `at most ${most} certificates`);

const privateKeySent =
  'holds a private key. It was neither stored nor logged here, but consider it exposed: discard it, generate a new key, ' +
  'and have a certificate issued for that one.';

export function badCertificate(param: string, what: string): Refusal {
  return badParam(param, 'bad_certificate', what);
}
