import { containsPrivateKey } from '@certwright/errors';
import { pemFaultMessage, unreadableCertificateMessage } from '@certwright/outcome-messages';
import { type Certificate, decodePem, readCertificate } from '@certwright/pki';
import { Unreadable } from '@certwright/service';
import { ApiSchema } from '@nestjs/swagger';
import { Argument, readJson, Required, TextArgument, unreadable } from '../wire/arguments';
import type { ReasonCode } from '../wire/reasons';

/** A certificate, read and not checked yet. */
@ApiSchema({ name: 'CertificateRequest' })
export class CertificateRequest {
  @Required()
  @TextArgument({ description: 'PEM.' }, readCertificateText)
  crt: Certificate;
}

/** A certificate to be imported, read and not checked yet. */
@ApiSchema({ name: 'ImportRequest' })
export class ImportRequest extends CertificateRequest {
  /** In the order in which they were sent; the root may be the last of them. */
  @Argument(
    {
      anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }],
      description: 'PEM; the first issued crt.',
    },
    readChain,
  )
  chain: readonly Certificate[] = [];
}

/** CAs use one or two between leaf and root; this also leaves room for the root and for longer chains. */
const maxIssuers = 8;

/** Bytes of DER: about a thousand names, and eight issuers. A page of instances shows a hundred of them. */
const maxBytes = { crt: 32 * 1024, chain: 16 * 1024 } as const;

function readCertificateText(text: string): Certificate | Unreadable<ReasonCode> {
  const read = readPem('crt', text, 1);
  if (read instanceof Unreadable) return read;
  return read[0] ?? unreadable('bad_certificate', 'crt must be a certificate in PEM.');
}

/** One PEM text after the other, or a list of PEM texts; in a form also as the JSON of such a list. */
function readChain(value: unknown): readonly Certificate[] | Unreadable<ReasonCode> {
  const sent = typeof value === 'number' ? String(value) : (value ?? '');
  const isText = typeof sent === 'string' && !sent.trimStart().startsWith('[');
  const pem = isText ? sent : readJson(sent, 'chain', 'bad_param');
  if (pem instanceof Unreadable) return pem;
  const texts: unknown[] = [pem].flat();
  if (!texts.every((text) => typeof text === 'string')) {
    return unreadable('bad_param', 'chain must be certificates in PEM, or a list of them.');
  }
  const text = texts.join('\n');
  return text.trim() === '' ? [] : readPem('chain', text, maxIssuers);
}

/** @param param name of the text, which itself is in no message */
function readPem(
  param: keyof typeof maxBytes,
  text: string,
  max: number,
): readonly Certificate[] | Unreadable<ReasonCode> {
  const bad = (what: string) => unreadable('bad_certificate', `${param} ${what}`);
  if (containsPrivateKey(text)) return bad(privateKeySent);
  const decoded = decodePem(text, max);
  if (!decoded.ok) {
    return bad(
      `must be ${max === 1 ? 'one certificate' : `at most ${max} certificates`} in PEM. ${pemFaultMessage(decoded.fault)}`,
    );
  }
  const bytes = decoded.blocks.reduce((sum, { der }) => sum + der.length, 0);
  if (bytes > maxBytes[param]) return bad(`has ${bytes} bytes; at most ${maxBytes[param]} are possible.`);
  const certificates: Certificate[] = [];
  for (const { label, der } of decoded.blocks) {
    if (label !== 'CERTIFICATE') return bad(`must have CERTIFICATE blocks only, no ${label}.`);
    const reading = readCertificate(der);
    if (!reading.ok) return bad(`cannot be read. ${unreadableCertificateMessage(reading.detail)}`);
    certificates.push(reading.certificate);
  }
  return certificates;
}

const privateKeySent =
  'contains a private key. It was neither stored nor logged here, but consider it exposed: discard it, generate a new ' +
  'key, and have a certificate issued for that one.';
