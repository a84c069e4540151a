import type { CaaReason } from '@certwright/dns-names';
import type {
  AuthorityOutcome,
  CaLimitKind,
  NameRefusal,
  OutcomeOf,
  RefusalReason,
} from '@certwright/issuance';
import { failureText, listText, sentence, type Writer } from './approval-messages';
import { issuedMismatchMessage } from './certificate-messages';
import type { Dialect, OutcomeMessages } from './outcome-messages';

export function authorityMessages(
  dialect: Dialect,
  write: Writer,
): Pick<OutcomeMessages, AuthorityOutcome['code']> {
  const { object, product } = dialect;
  return {
    ca_unreachable: ({ authority, detail }) => {
      const which = authority === null ? 'The certificate authority' : `The CA ${authority}`;
      const diagnosis = detail === '' ? '' : ` (${detail})`;
      return `${which} could not be reached, or did not respond as expected; it is tried again automatically${diagnosis}.`;
    },
    ca_refused: (outcome) => refused(outcome, refusalTexts(dialect)),
    ca_down: ({ authority, since, nextProbeAt, problem }) =>
      // A release that stores no outcomes moves the time of the probe within this text.
      `The CA ${authority} has been down since ${since}. ${problem === null ? '' : `${write(problem)} `}` +
      `The next probe of ${authority} is at ${nextProbeAt}; issuance continues automatically once the CA is up.`,
    ca_not_in_use: ({ authority }) => `The CA ${authority} is not in use at present.`,
    ca_busy_with_names: () =>
      'Another request for the same names is in progress at the CA. This one continues automatically after it.',
    ca_still_issuing: ({ authority, since }) =>
      `The CA ${authority} has accepted the request at ${since}, and has not issued the certificate yet. It is checked again automatically.`,
    ca_attempt_ended: ({ authority }) =>
      `The attempt at the CA ${authority} ended without a certificate. It is tried again automatically.`,
    cas_refused: ({ refusals }) =>
      refusals.map(({ authority, outcome }) => `${authority}: ${write(outcome)}`).join(' '),
    ca_needs_other_approval: ({ authority, dnsNames }) =>
      `The CA ${authority} accepts no approval by email; it must verify the name itself: ${dnsNames.join(', ')}. ` +
      'Set up the DNS record or, except for wildcards, the web server rule that is shown for the name.',
    ca_limit_reached: limitReached,
    too_many_names: ({ count, max, limitOf }) => {
      const by =
        limitOf.kind === 'product'
          ? `the ${product} ${limitOf.product}`
          : `the CA ${limitOf.authority}${limitOf.profile === null ? '' : ` under its profile ${limitOf.profile}`}`;
      return (
        `There are ${count} names, but ${by} allows at most ${max} in a certificate. ` +
        `Remove names from the ${object}, or divide them among several.`
      );
    },
    caa_forbids: ({ dnsName, at, reason, records, more }) => {
      const { why, whatToDo } = caaText(reason, at, product);
      return `For ${dnsName}, the CAA records of ${at} ${why} (${records.join(', ')}). ${whatToDo}${alsoFor(more)}`;
    },
    caa_unknown: ({ dnsName, at, failure, server, more }) =>
      `The CAA records of ${at} could not be looked up at ${server} (${failureText(failure)}), and no CA may issue for ` +
      `${dnsName} without them. Make the zone's name servers respond to queries for CAA; an empty response is enough. ` +
      `It is tried again automatically.${alsoFor(more)}`,
    challenge_not_published: () =>
      'The record that the CA looks for could not be published in the approval zone yet. It is tried again automatically.',
    challenge_not_visible: ({ places: { first, more } }) => {
      const shown = first.map(({ name, server }) => `${name} at ${server}`).join(', ');
      return `The value that the CA looks for is not visible yet: ${shown}${more > 0 ? `, and ${more} more` : ''}.`;
    },
    approval_zone_unknown: ({ zone }) =>
      `The name servers of ${zone} are not known. It is tried again automatically.`,
    certificate_mismatch: ({ faults }) =>
      `The CA returned a certificate that does not match the request. ${faults.map(issuedMismatchMessage).join(' ')}`,
    certificate_unusable: ({ authority, detail }) =>
      `The CA ${authority} returned something that cannot be used as a certificate: ${sentence(detail)}`,
  };
}

const alsoFor = (more: number) => (more === 0 ? '' : ` The same applies to ${more} more of the names.`);

interface RefusalText {
  readonly why: string;
  readonly whatToDo: string;
}

/** What each reason means to the user, and what to do about it. */
function refusalTexts({ object, product, sendCsr }: Dialect): Record<RefusalReason, RefusalText> {
  const operator = 'The operator of this platform must look at it; you need not do anything.';
  const again = 'It is tried again automatically.';
  const ofName = `Remove the name from the ${object}, or choose another ${product}.`;
  return {
    accountDoesNotExist: { why: "The CA does not accept this platform's account.", whatToDo: operator },
    alreadyReplaced: { why: 'The CA has already replaced the earlier certificate.', whatToDo: again },
    alreadyRevoked: { why: 'The certificate was already revoked.', whatToDo: 'You need not do anything.' },
    badCSR: {
      why: 'The CA does not accept the certificate request (CSR).',
      whatToDo: `Make a CSR with exactly the names of the certificate and a fresh key, and ${sendCsr}.`,
    },
    badNonce: { why: 'The CA refused its own anti-replay values again and again.', whatToDo: again },
    badPublicKey: {
      why: 'The CA does not accept the public key.',
      whatToDo: `Make a new key of a common kind (P-256, or RSA with 2048 bits) and ${sendCsr}.`,
    },
    badRevocationReason: {
      why: 'The CA does not accept this reason of revocation.',
      whatToDo: 'Give another reason.',
    },
    badSignatureAlgorithm: {
      why: "The CA does not accept the algorithm of the platform's account key.",
      whatToDo: operator,
    },
    caa: {
      why: 'A CAA record forbids this CA to issue for the name.',
      whatToDo: "Add the CA to the name's CAA records, or remove those that forbid it.",
    },
    compound: { why: 'The CA found several errors.', whatToDo: 'See each name.' },
    connection: {
      why: 'The CA could not connect to the server of the name.',
      whatToDo:
        'Let the server respond on port 80 from everywhere, over IPv4 and, where the name has it, IPv6.',
    },
    dns: {
      why: 'The CA could not look up the name, or did not find the record.',
      whatToDo:
        "Check that all of the name's DNS servers respond, that the record or delegation is there, and that DNSSEC validates.",
    },
    externalAccountRequired: {
      why: "The CA requires the platform's account to be bound to a customer account.",
      whatToDo: operator,
    },
    incorrectResponse: {
      why: 'The CA found something other than it asked for.',
      whatToDo: 'Check that nothing else responds instead, such as an old record, a proxy or a cache.',
    },
    invalidContact: {
      why: "The CA does not accept the contact of the platform's account.",
      whatToDo: operator,
    },
    invalidProfile: {
      why: `The CA does not have the profile of the ${product}.`,
      whatToDo: operator,
    },
    malformed: { why: 'The CA did not understand the request.', whatToDo: operator },
    orderNotReady: { why: 'The CA is not ready to issue yet.', whatToDo: again },
    rateLimited: {
      why: 'A limit of the CA is reached.',
      whatToDo: 'It is tried again when the CA allows it.',
    },
    rejectedIdentifier: { why: 'The CA does not issue for this name.', whatToDo: ofName },
    serverInternal: { why: 'The CA had an internal error.', whatToDo: again },
    tls: {
      why: 'The CA could not make a TLS connection to the server of the name.',
      whatToDo: "Check the server's TLS on port 443.",
    },
    unauthorized: {
      why: 'The CA did not find the proof that the name is yours.',
      whatToDo: 'Check that the delegation, record or web server rule is as it is shown for the name.',
    },
    unsupportedContact: {
      why: "The CA does not accept the kind of contact of the platform's account.",
      whatToDo: operator,
    },
    unsupportedIdentifier: { why: 'The CA does not issue for this kind of name.', whatToDo: ofName },
    userActionRequired: {
      why: "The CA requires the holder of the platform's account to agree to something.",
      whatToDo: operator,
    },
    other: {
      why: 'The CA refused without a known reason.',
      whatToDo: 'It is tried again automatically; if it stays, see what the CA says.',
    },
    no_challenge: {
      why: 'The CA offers none of the ways to approve this name that are set up for it.',
      whatToDo: 'Set up another way to approve the name; wildcards need DNS.',
    },
    approval_expired: { why: "The CA's own approval of this name has expired.", whatToDo: again },
    approval_revoked: { why: "The CA's own approval of this name was revoked.", whatToDo: again },
    approval_deactivated: { why: "The CA's own approval of this name was deactivated.", whatToDo: again },
    lapsed: {
      why: 'The attempt expired at the CA before it was complete.',
      whatToDo: 'It is tried again automatically; check that each name can be approved in time.',
    },
  };
}

function refused(
  { authority, stage, reason, saying, names: { first, more } }: OutcomeOf<'ca_refused'>,
  texts: Record<RefusalReason, RefusalText>,
): string {
  const beginning =
    stage === 'request' ? `The CA ${authority} refused.` : `The CA ${authority} ended the attempt.`;
  const andMore = more > 0 ? ` And ${more} more.` : '';
  if (stage === 'attempt' && first.length > 0) {
    const ofName = ({ dnsName, reason: why, saying: said }: NameRefusal) =>
      `${dnsName}: ${texts[why].why}${quoted(said)} ${texts[why].whatToDo}`;
    return `${beginning} ${first.map(ofName).join(' ')}${andMore}`;
  }
  const saidOf = ({ dnsName, saying: said }: NameRefusal) =>
    said === '' ? `${dnsName}.` : sentence(`${dnsName}: ${said}`);
  const names = first.map(saidOf).join(' ') + andMore;
  const whole = `${beginning} ${texts[reason].why}${quoted(saying)}`;
  return [whole, names, texts[reason].whatToDo].filter((text) => text !== '').join(' ');
}

const quoted = (saying: string) => (saying === '' ? '' : ` The CA says: ${sentence(saying)}`);

const units = [
  { name: 'day', seconds: 86_400 },
  { name: 'hour', seconds: 3_600 },
  { name: 'minute', seconds: 60 },
  { name: 'second', seconds: 1 },
] as const;

const limits = {
  newOrders: () => ({ what: 'new requests', of: 'from this service' }),
  perRegisteredDomain: (key) => ({ what: 'certificates per registered domain', of: `for ${key}` }),
  perNameSet: () => ({ what: 'certificates per exact set of names', of: 'for exactly these names' }),
  failedAuthorizations: (key) => ({ what: 'failed authorizations per name', of: `for ${key}` }),
} as const satisfies Record<CaLimitKind, (key: string) => { readonly what: string; readonly of: string }>;

function limitReached(outcome: OutcomeOf<'ca_limit_reached'>): string {
  const { authority, limit, key, size, isShared, until } = outcome;
  const { what, of } = limits[limit](key);
  const numbers = size === null ? '' : ` (${size.count} ${what} in ${durationText(size.perS)})`;
  const why = isShared
    ? `the rest of its limit${numbers} is kept for accounts that used less of it lately`
    : `its limit${numbers} is reached`;
  return `The CA ${authority} accepts no more requests ${of} for now: ${why}. It is tried again automatically after ${until}.`;
}

function durationText(perS: number): string {
  const { name, seconds } =
    units.find((unit) => perS % unit.seconds === 0 && perS >= unit.seconds) ?? units[3];
  const count = perS / seconds;
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

/** `why` completes "The CAA records of example.com …". */
function caaText(reason: CaaReason, at: string, product: string): RefusalText {
  switch (reason.kind) {
    case 'other_issuers': {
      const { tag, allowed, issuer } = reason;
      return {
        why:
          allowed.length === 0
            ? 'allow no CA to issue'
            : `allow only ${listText({ first: allowed, more: 0 })} to issue`,
        whatToDo: `Add the record ${at}. CAA 0 ${tag} "${issuer}", or choose a ${product} of a CA that they name.`,
      };
    }
    case 'other_account':
      return {
        why: `allow only another account to issue than ours, ${reason.accountUri}`,
        whatToDo: `Add a CAA record to ${at} with "accounturi=${reason.accountUri}", or remove the parameter.`,
      };
    case 'other_method':
      return {
        why: `do not allow validation by ${reason.method}`,
        whatToDo: `Add ${reason.method} to "validationmethods" of the CAA record of ${at}, or remove the parameter.`,
      };
    case 'unknown_critical':
      return {
        why: 'have a critical property that no CA here understands',
        whatToDo: `Remove the record of ${at}, or its critical flag.`,
      };
  }
}
