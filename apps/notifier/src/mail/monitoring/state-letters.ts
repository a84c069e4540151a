import type { MonitoringMailFacts } from '@certwright/delivery';
import { type Block, dateOf, instantOf, type Letter, list, paragraph, quote } from '../letter';
import type { HeartbeatSubject, OverflowSubject } from './monitoring-subjects';

const at = (iso: string): string => instantOf(new Date(iso));

export function overflowLetter(
  { accountName, maxFindingsPerDay, counted }: OverflowSubject,
  since: string,
): Letter {
  return {
    subject: ['Too many certificates for the monitored domains of ', quote(accountName)],
    blocks: [
      paragraph(
        'For the monitored domains of the account ',
        quote(accountName),
        `, ${maxFindingsPerDay} certificates were found on ${dateOf(new Date(since))}. This is the limit of a day.`,
      ),
      paragraph(
        `Since ${at(since)}, further certificates are only counted, ${counted} so far: there is no alert for them, and they are not listed. This ends at 00:00 UTC.`,
      ),
      paragraph(
        'Disable or delete monitored domains with many certificates that you do not need, or ask the operator for a higher limit.',
      ),
      paragraph('GET /api/v3/monitoring/status shows the limit and how many certificates were found.'),
    ],
  };
}

export function behindLetter(
  accountName: string,
  { since, followedTo }: MonitoringMailFacts['monitoring-behind'],
): Letter {
  return {
    subject: ['The monitoring of certificates of ', quote(accountName), ' is behind'],
    blocks: [
      paragraph(
        'The monitoring of certificates of the account ',
        quote(accountName),
        ` has been behind since ${at(since)}. Certificates that were found until ${at(followedTo)} are processed; alerts for later ones are delayed.`,
      ),
      paragraph(
        'No alert is lost: later certificates are processed as soon as monitoring works again, and then you get another mail. The operator is notified.',
      ),
      paragraph('GET /api/v3/monitoring/status shows the current state.'),
    ],
  };
}

export function caughtUpLetter(
  accountName: string,
  { since, followedTo }: MonitoringMailFacts['monitoring-caught-up'],
): Letter {
  return {
    subject: ['The monitoring of certificates of ', quote(accountName), ' has caught up'],
    blocks: [
      paragraph(
        'The monitoring of certificates of the account ',
        quote(accountName),
        ` was behind since ${at(since)}, and is up to date again. Certificates that were found until ${at(followedTo)} are processed.`,
      ),
      paragraph('No certificate was skipped. There is an alert for each unknown one.'),
    ],
  };
}

export function heartbeatLetter(
  subject: HeartbeatSubject,
  { since, until, followedTo, laggingLogs }: MonitoringMailFacts['monitoring-heartbeat'],
): Letter {
  const { accountName, domains } = subject;
  return {
    subject: ['The monitoring of certificates of ', quote(accountName), ' works'],
    blocks: [
      paragraph(
        'The account ',
        quote(accountName),
        ` monitors ${domains === 1 ? '1 domain' : `${domains} domains`}. ${foundText(subject)} between ${at(since)} and ${at(until)}.`,
      ),
      paragraph(`Certificates that were found until ${at(followedTo)} are processed.`),
      ...logBlocks(laggingLogs),
      paragraph(
        'You get this mail every week, so that you notice when monitoring does not work. To turn it off, set "heartbeat" to "off" with POST /api/v3/monitoring/settings.',
      ),
    ],
  };
}

function foundText({ known, unknown, acknowledged, waiting }: HeartbeatSubject): string {
  const total = known + unknown + acknowledged + waiting;
  if (total === 0) return 'No certificate was found for them';
  const states = [
    `${known} known`,
    `${unknown} unknown`,
    ...(acknowledged > 0 ? [`${acknowledged} acknowledged`] : []),
    ...(waiting > 0 ? [`${waiting} not classified yet`] : []),
  ];
  return `${total === 1 ? '1 certificate was' : `${total} certificates were`} found (${states.join(', ')})`;
}

function logBlocks(laggingLogs: readonly string[]): readonly Block[] {
  if (laggingLogs.length === 0) return [paragraph('Every log is followed up to its end.')];
  return [
    paragraph('These logs are not followed up to their end, so certificates in them are found later:'),
    list(laggingLogs),
  ];
}
