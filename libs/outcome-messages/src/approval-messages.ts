import type { LookUpFailure } from '@certwright/dns-names';
import type {
  ApprovalMethod,
  ApprovalOutcome,
  Listed,
  NameServerAnswer,
  Outcome,
  OutcomeOf,
} from '@certwright/issuance';
import type { Dialect, OutcomeMessages } from './outcome-messages';

export type Writer = (outcome: Outcome) => string;

const lookUpFailures = {
  timeout: 'no response in time',
  unreachable: 'nothing responds at its address',
  servfail: 'SERVFAIL',
  malformed: 'a malformed response',
  aborted: 'the lookup was stopped',
  refused: 'REFUSED',
  formerr: 'FORMERR',
  notimp: 'NOTIMP',
  other_rcode: 'an unexpected response code',
  too_large: 'a response that is too large',
  invalid_name: 'not a name that can be looked up',
} as const satisfies Record<LookUpFailure, string>;

export function failureText(failure: LookUpFailure): string {
  return lookUpFailures[failure];
}

const methods = {
  dns: 'By DNS record',
  http: 'By web server rule',
  email: 'By email',
} as const satisfies Record<ApprovalMethod, string>;

/** `a, b and 4 more` */
export function listText(
  { first, more }: Listed<string>,
  separator = ', ',
  end = more > 0 ? ` and ${more} more` : '',
): string {
  return `${first.join(separator)}${end}`;
}

/** Outcomes begin with a name or in lower case where they follow "By DNS record:". */
export function approvalMessages(
  dialect: Dialect,
  write: Writer,
): Pick<OutcomeMessages, ApprovalOutcome['code']> {
  const { checkAgain, approveOtherwise } = dialect;
  return {
    not_approved: ({ ways }) =>
      ways.map(({ method, outcome }) => `${methods[method]}: ${write(outcome)}`).join(' '),
    no_approval_way: ({ dnsName }) => `The ${dialect.product} offers no way to approve ${dnsName}.`,
    approval_way_unusable: ({ dnsName, reason }) => {
      const why = {
        not_offered: `the ${dialect.product} does not offer this way`,
        no_approver: `no address is named that may approve ${dnsName}`,
        wildcard: `the wildcard ${dnsName} cannot be approved in this way`,
        name: `${dnsName} cannot be approved in this way`,
      } as const satisfies Record<typeof reason, string>;
      return `${why[reason]}; ${approveOtherwise}.`;
    },
    dns_record_missing: ({ name, expected, found, server }) => {
      const what = found === 'nxdomain' ? 'has no CNAME record' : 'has no CNAME and no NS record';
      const where = found === 'nxdomain' ? `at ${server} (NXDOMAIN)` : `at ${server}`;
      return `${name} ${what} ${where}; add one to ${expected}.`;
    },
    dns_record_differs: recordDiffers,
    dns_record_invalid: ({ name, fault, found, server }) => {
      const what = {
        several: `${name} has several CNAME records at ${server} (${listText(found)}); a name may have one`,
        circle: `the CNAME records of ${name} at ${server} lead in a circle, over ${listText(found)}`,
        too_long: `${name} leads over too many CNAME records at ${server}; point it to its target directly`,
      } as const satisfies Record<typeof fault, string>;
      return `${what[fault]}.`;
    },
    dns_lookup_failed: ({ name, at, expected, failure, server }) => {
      const where = at === name ? '' : `${name} is a CNAME to ${at}, not to ${expected}; `;
      return `${where}${at} could not be looked up at ${server} (${failureText(failure)}).`;
    },
    dns_zone_unknown: ({ dnsName }) => `the zone of ${dnsName} could not be found.`,
    name_servers_unknown: ({ zone, failure, server }) => {
      const why = failure === null ? 'it has no NS record' : failureText(failure);
      return `the name servers of ${zone} are not known (${why} at ${server}).`;
    },
    name_servers_differ: ({ servers: { first, more } }) => {
      const end = more > 0 ? `; and ${more} more` : '';
      return `${listText({ first: first.map(serverText), more }, '; ', end)}.`;
    },
    record_not_ready: ({ integrationId, stage, problem }) => {
      const because = problem === null ? '' : ` ${write(problem)}`;
      const integration = `the integration ${integrationId}`;
      switch (stage) {
        case 'removing':
          return `an earlier record is being removed through ${integration} and is added again after that.${because}`;
        case 'replaced':
          return `the record was added through ${integration}.${because}`;
        case 'failing':
          return `the record could not be added through ${integration} yet.${because}`;
        case 'adding':
          return `the record is being added through ${integration}.${because}`;
        case 'added':
          return problem === null
            ? `the record was added through ${integration}; the servers of its zone are being checked.`
            : `the record was added through ${integration};${because}`;
      }
    },
    record_replaced: ({ found }) =>
      `${write(found)} The record was replaced by something else, so it is left alone. To have it added again now, ` +
      `${checkAgain}; else it is added at the next renewal.`,
    integration_deleted: () => 'The integration was deleted before the record could be removed.',
    dns_gateway_failed: ({ fault, saying }) =>
      saying === '' ? `The DNS provider could not be used (${fault}).` : sentence(saying),
    web_server_differs: (outcome) => `${webServerText(outcome)}; ${webServerAdvice(dialect)}.`,
    web_server_unreachable: ({ url, detail }) =>
      `${detail === null ? `${url} did not respond in time` : withoutStop(detail)}; ${webServerAdvice(dialect)}.`,
    approval_mail_limit_reached: ({ address, until }) =>
      `${address} has received as many approval requests as one address may within a day; the next one can be sent after ${minuteOf(until)}.`,
    approval_mail_undeliverable: ({ address, askedAt }) =>
      `the request to ${address} of ${minuteOf(askedAt)} could not be delivered; to send another one, ${checkAgain}, or name another address.`,
    approval_mail_unanswered: ({ address, askedAt }) =>
      `the request to ${address} of ${minuteOf(askedAt)} is not approved yet; to send another mail after ten minutes, ${checkAgain}.`,
  };
}

function recordDiffers(outcome: OutcomeOf<'dns_record_differs'>): string {
  const { name, expected, type, found, isPartial, server } = outcome;
  if (type === 'CNAME') return `${name} is a CNAME to ${listText(found)}, not to ${expected}.`;
  return isPartial
    ? `${name} is delegated (NS) to ${expected} at ${server}, but to ${listText(found)} as well.`
    : `${name} is delegated (NS) to ${listText(found)} at ${server}, not to ${expected}.`;
}

function serverText(answer: NameServerAnswer): string {
  const { server } = answer;
  switch (answer.kind) {
    case 'no_address':
      return `${server} cannot be queried (${answer.detail})`;
    case 'failure':
      return `${server} does not respond for the zone (${failureText(answer.failure)})`;
    case 'lame':
      return `${server} is lame: it responds, but without authority for the zone`;
    case 'absent':
      return `${server} does not respond with the record yet (${answer.nxdomain ? 'NXDOMAIN' : 'no record'})`;
    case 'other': {
      const what = answer.type === 'CNAME' ? 'a CNAME' : 'a delegation (NS)';
      return `${server} responds with ${what} to ${listText(answer.found)} instead`;
    }
  }
}

function webServerText(outcome: OutcomeOf<'web_server_differs'>): string {
  const { url, leadsTo, status, body, bodyCharacters } = outcome;
  const place = leadsTo === null ? url : `${url} leads to ${leadsTo}, which`;
  if (body === null) return `${place} responded with status ${status}`;
  const bodies = {
    empty: 'an empty body',
    html: 'an HTML page',
    long_text: 'a long text',
    other_value: `another value of ${bodyCharacters} characters`,
  } as const satisfies Record<typeof body, string>;
  return `${place} responded with ${bodies[body]} instead of the challenge`;
}

const webServerAdvice = ({ webServerRule }: Dialect) => `it must redirect or proxy to ${webServerRule}`;

/** `2026-11-20 12:00 UTC` */
function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}

export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text.replace(/…$/, '….') : `${text}.`;
}
