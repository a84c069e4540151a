import type { MonitoringMailFacts } from '@certwright/delivery';
import { type Block, dateOf, type Letter, paragraph, type Part, quote } from '../letter';
import { whatToDo } from './certificates';
import { certificateBlocks } from './found-certificate';
import type { BackfillSubject } from './monitoring-subjects';

/** The summary of a domain that was added, or of a name that is no longer excluded from one. */
export function backfillLetter(
  subject: BackfillSubject,
  { indexSince, others }: MonitoringMailFacts['monitoring-backfill'],
): Letter {
  const { name, found, unknown } = subject;
  return {
    subject: [`${counted(found)} found for `, quote(name), `, ${unknown} unknown`],
    blocks: [
      paragraph(...occasion(subject), ` ${foundText(subject)}`),
      ...(others === undefined ? [] : [paragraph(othersText(others))]),
      paragraph(...completeness(indexSince)),
      ...unknownBlocks(subject),
    ],
  };
}

function occasion({ accountName, name, monitoredAs }: BackfillSubject): readonly Part[] {
  return monitoredAs === name
    ? ['The monitored domain ', quote(name), ' of the account ', quote(accountName), ' was added.']
    : [
        'The account ',
        quote(accountName),
        ' now monitors ',
        quote(name),
        ' as part of the monitored domain ',
        quote(monitoredAs),
        '.',
      ];
}

function foundText({ found, unknown }: BackfillSubject): string {
  if (found === 0) return 'No certificate was found for it.';
  if (found === 1) return `1 certificate was found for it, and it is ${unknown === 0 ? 'known' : 'unknown'}.`;
  return `${found} certificates were found for it, and ${unknown} of them are unknown.`;
}

function othersText({
  domains,
  found,
  unknown,
}: NonNullable<MonitoringMailFacts['monitoring-backfill']['others']>): string {
  const others = domains === 1 ? 'Another domain is' : `${domains} other domains are`;
  return `${others} now monitored. ${counted(found)} ${found === 1 ? 'was' : 'were'} found for ${domains === 1 ? 'it' : 'them'}, ${unknown} unknown. GET /api/v3/monitoring/certificates lists all.`;
}

const counted = (count: number): string => (count === 1 ? '1 certificate' : `${count} certificates`);

function completeness(indexSince: string | null): readonly Part[] {
  return indexSince === null
    ? ['The index is complete: it has every certificate that has not expired.']
    : [
        `The index is not complete: it has certificates that were logged since ${dateOf(new Date(indexSince))}. Older ones may still be valid.`,
      ];
}

function unknownBlocks({ certificates, unknown }: BackfillSubject): readonly Block[] {
  if (certificates.length === 0) return [];
  return [
    paragraph(
      certificates.length < unknown
        ? `These are the newest ${certificates.length} of the unknown ones. GET /api/v3/monitoring/certificates?state=unknown lists all.`
        : 'These are unknown:',
    ),
    ...certificates.flatMap((certificate, at) =>
      certificateBlocks(certificate, `Certificate ${at + 1} of ${certificates.length}`),
    ),
    ...whatToDo,
  ];
}
