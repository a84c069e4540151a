import type { ExpirationSubject } from '../mail-subjects';
import type { PlanOwner } from '@certwright/core-schema';
import { messageOf } from '@certwright/outcome-messages';
import { type Block, instantOf, type Letter, list, paragraph, quote } from '../letter';
import { objectOf, outcomeMessagesOf } from './object-messages';

const dayMs = 24 * 60 * 60 * 1_000;

export function expirationNoticeLetter(subject: ExpirationSubject, now: Date): Letter {
  const { owner, objectName, dnsNames, notAfter, serialNumber, accountName } = subject;
  const inDays = daysText(notAfter, now);
  return {
    subject: ['The certificate of ', quote(objectName), ` expires ${inDays}`],
    blocks: [
      paragraph(
        owner === 'orders-v3' ? 'The current certificate of the order ' : 'The current certificate for ',
        quote(objectName),
        ' in the account ',
        quote(accountName),
        ` expires ${inDays}, on ${instantOf(notAfter)}. It holds these names:`,
      ),
      list(dnsNames),
      paragraph(`Its serial number is ${serialNumber}.`),
      ...whatToDo(subject),
      paragraph(`To get no more of these notices for this ${objectOf[owner]}, set its "muted" to true.`),
    ],
  };
}

/** Whole days, counted so that a reader who acts by them is never late. */
function daysText(notAfter: Date, now: Date): string {
  const days = Math.ceil((notAfter.getTime() - now.getTime()) / dayMs);
  return days <= 1 ? 'within a day' : `in ${days} days`;
}

function whatToDo({
  owner,
  paused,
  autoRenew,
  replacementPaid,
  renewsAt,
  problem,
  silentCluster,
}: ExpirationSubject): readonly Block[] {
  const object = objectOf[owner];
  if (paused) {
    return [
      paragraph(
        `The ${object} is paused, so it is not renewed. To have it renewed, set its "paused" to false.`,
      ),
    ];
  }
  if (!autoRenew && !replacementPaid) return [paragraph(howToRenew[owner])];
  const renewed = autoRenew
    ? 'Automatic renewal is on, but there is no replacement yet.'
    : 'What was paid for lasts longer, so a replacement is issued automatically, but there is none yet.';
  if (silentCluster !== null) {
    const { name, hasAgents, lastSeenAt } = silentCluster;
    const since = lastSeenAt === null ? '' : ` since ${instantOf(lastSeenAt)}`;
    const agents = hasAgents
      ? `: none of them was seen${since}. Please start an agent.`
      : ', which has none. Please enrol one.';
    return [paragraph(`${renewed} It waits for a key from the agents of the cluster `, quote(name), agents)];
  }
  if (problem === null && renewsAt !== null) {
    return [
      paragraph(
        `The ${object} is renewed automatically from ${instantOf(renewsAt)} on. Nothing is to be done until then.`,
      ),
    ];
  }
  if (problem === null) {
    return [
      paragraph(`${renewed} Please look at the ${object}: it may be waiting for an approval or for a CSR.`),
    ];
  }
  return [
    paragraph(
      `${renewed} The last attempt ran into this: `,
      quote(messageOf(problem, outcomeMessagesOf[owner])),
    ),
  ];
}

const howToRenew = {
  'orders-v3':
    'Automatic renewal is off. To renew it now, set "auto_renew" of the order to true; to keep it off after that, set it back to false at once.',
  'certs-v2':
    'Automatic renewal is off. To renew it, buy the certificate again; to renew it automatically from then on, set its "auto_renew" to true.',
} as const satisfies Record<PlanOwner, string>;
