import type { AcmeProblem } from '../acme-problem';

export interface Advice {
  readonly why: string;
  readonly whatToDo: string;
}

const ours = 'Nothing on your side: the operator of this platform has to look at it.';

/** What each type of problem means to somebody who wants a certificate, and what there is to be done about it. */
const advice = {
  accountDoesNotExist: { why: "The CA does not know this platform's account.", whatToDo: ours },
  alreadyReplaced: {
    why: 'The CA has replaced the earlier certificate already.',
    whatToDo: 'Nothing: the order is repeated without naming it.',
  },
  alreadyRevoked: { why: 'The certificate was revoked already.', whatToDo: 'Nothing.' },
  badCSR: {
    why: 'The CA does not accept the certificate request (CSR).',
    whatToDo: 'Send a CSR with exactly the names of the certificate and a fresh key.',
  },
  badNonce: {
    why: 'The CA refused its own anti-replay values again and again.',
    whatToDo: 'Nothing: it is tried again.',
  },
  badPublicKey: {
    why: 'The CA does not accept the public key.',
    whatToDo: 'Make a new key of a usual kind (P-256, or RSA of 2048 bits) and send a CSR for it.',
  },
  badRevocationReason: {
    why: 'The CA does not accept this reason of revocation.',
    whatToDo: 'Give another reason.',
  },
  badSignatureAlgorithm: { why: "The CA does not accept the account key's algorithm.", whatToDo: ours },
  caa: {
    why: 'A CAA record forbids this CA to issue for the name.',
    whatToDo: "Add the CA to the name's CAA records, or remove those that forbid it.",
  },
  compound: { why: 'The CA found several faults.', whatToDo: 'See each name.' },
  connection: {
    why: 'The CA could not connect to the server of the name.',
    whatToDo: 'Let the server answer on port 80 from everywhere, over IPv4 and, where the name has it, IPv6.',
  },
  dns: {
    why: 'The CA could not look the name up, or did not find the record.',
    whatToDo:
      "Check that all of the name's DNS servers answer, that the record or delegation is there, and that DNSSEC holds.",
  },
  externalAccountRequired: { why: "The CA wants its account bound to a customer's.", whatToDo: ours },
  incorrectResponse: {
    why: 'The CA found something other than what it asked for.',
    whatToDo: 'Check that nothing else answers in its place, such as an old record, a proxy or a cache.',
  },
  invalidContact: { why: "The CA does not accept the account's contact.", whatToDo: ours },
  invalidProfile: { why: 'The CA does not have the profile that the product asks for.', whatToDo: ours },
  malformed: { why: 'The CA did not understand the request.', whatToDo: ours },
  orderNotReady: { why: 'The CA is not ready to issue yet.', whatToDo: 'Nothing: it is tried again.' },
  rateLimited: {
    why: 'A limit of the CA is reached.',
    whatToDo: 'Nothing: it is tried again when the CA allows it.',
  },
  rejectedIdentifier: {
    why: 'The CA does not issue for this name.',
    whatToDo: 'Remove the name, or use another product.',
  },
  serverInternal: { why: 'The CA had a fault of its own.', whatToDo: 'Nothing: it is tried again.' },
  tls: {
    why: 'The CA could not make a TLS connection to the server of the name.',
    whatToDo: "Check the server's TLS on port 443.",
  },
  unauthorized: {
    why: 'The CA did not find the proof that the name is yours.',
    whatToDo: 'Check that the delegation, record or web server rule is as it is shown for the name.',
  },
  unsupportedContact: { why: "The CA does not accept the account's kind of contact.", whatToDo: ours },
  unsupportedIdentifier: {
    why: 'The CA does not issue for this kind of name.',
    whatToDo: 'Remove the name, or use another product.',
  },
  userActionRequired: { why: "The CA wants its account's holder to agree to something.", whatToDo: ours },
  other: {
    why: 'The CA refused without a reason that we know.',
    whatToDo: 'It is tried again; if it stays, see what the CA says.',
  },
} satisfies Record<AcmeProblem['type'], Advice>;

export function adviceOn(type: AcmeProblem['type']): Advice {
  return advice[type];
}
