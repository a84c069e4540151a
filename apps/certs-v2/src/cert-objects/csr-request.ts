import { containsPrivateKey } from '@certwright/errors';
import { pemFaultMessage } from '@certwright/outcome-messages';
import { type Csr, decodePem, readCsr } from '@certwright/pki';
import { messageOfCsrFault } from '../wire/outcome-messages';
import { Refusal } from '../wire/reasons';

/** RFC 7468, section 7: the second one stands for the first. */
const labels: ReadonlySet<string> = new Set(['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST']);

/**
 * A PKCS #10 request in PEM, read and not yet judged.
 *
 * @throws Refusal `bad_csr`, which never repeats what was sent
 */
export function readCsrArgument(text: string): Csr {
  if (containsPrivateKey(text)) {
    throw badCsr(
      'A private key was submitted instead of a CSR. It was neither stored nor logged here, but consider it exposed: ' +
        'discard it, generate a new key, and submit a CSR, which holds the public key only.',
    );
  }
  const pem = decodePem(text, 1);
  if (!pem.ok) throw badCsr(`The CSR must be PKCS #10 in PEM. ${pemFaultMessage(pem.fault)}`);
  const [block] = pem.blocks;
  if (block === undefined || !labels.has(block.label)) {
    throw badCsr('The PEM text is no CERTIFICATE REQUEST.');
  }
  const reading = readCsr(block.der);
  if (!reading.ok) throw badCsr(reading.faults.map(messageOfCsrFault).join(' '));
  return reading.csr;
}

export function badCsr(message: string): Refusal {
  return new Refusal('bad_csr', message, { param: 'csr' });
}
