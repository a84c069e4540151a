import type { Installation } from '@certwright/accounts';
import type { InstallationState } from '@certwright/agent-contract';
import { type Block, instantOf, itemList, type Letter, paragraph, type Part, quote } from '../letter';
import type { RolloutSubject } from '../mail-subjects';

/** Places beyond this are counted, not shown. */
const maxItems = 20;

/** Hosts do not serve the current certificate of an order. */
export function notServedLetter(subject: RolloutSubject): Letter {
  const { objectName, begunAt, notAfter, installations } = subject;
  return {
    subject: ['The current certificate of ', quote(objectName), ' is not served'],
    blocks: [
      paragraph(
        ...orderParts(subject),
        `. Since ${instantOf(begunAt)} they are to serve a certificate that is valid until ${instantOf(notAfter)}. These do not:`,
      ),
      placesBlock(installations),
      paragraph('Visitors of these hosts get an earlier certificate, which ends sooner, or none.'),
      paragraph(
        'The member "installations" of the order shows the present state (expand=installations). This mail is sent once for each certificate.',
      ),
    ],
  };
}

/** Two hosts could not install a certificate, so the others do not try. */
export function rolloutStoppedLetter(subject: RolloutSubject): Letter {
  const { objectName, installations } = subject;
  const broken = installations.filter(({ state }) => state === 'rolled_back' || state === 'failed');
  return {
    subject: ['The roll-out of a certificate of ', quote(objectName), ' has stopped'],
    blocks: [
      paragraph(
        ...orderParts(subject),
        '. Two hosts could not put the current certificate into use, so the others do not try. Each host keeps its previous certificate in use.',
      ),
      ...(broken.length === 0 ? [] : [placesBlock(broken)]),
      paragraph(
        'Correct these hosts. The roll-out continues when one of them serves the certificate; a POST of the order without changes, or a newer certificate, starts it again.',
      ),
    ],
  };
}

const orderParts = ({ objectName, accountName, cluster }: RolloutSubject): readonly Part[] => [
  'The hosts of the cluster ',
  quote(cluster),
  ' install the certificates of the order ',
  quote(objectName),
  ' of the account ',
  quote(accountName),
];

function placesBlock(installations: readonly Installation[]): Block {
  const shown = installations
    .slice(0, maxItems)
    .map(({ host, point, state, since, problem }): readonly Part[] => [
      quote(host),
      ', ',
      quote(point),
      `: ${textOf[state]} since ${instantOf(since)}`,
      ...(problem === null ? ['.'] : ['. ', quote(problem)]),
    ]);
  const more = installations.length - shown.length;
  return itemList(more > 0 ? [...shown, [`and ${more} more`]] : shown);
}

const textOf = {
  waiting: 'not begun',
  no_key: 'without the key',
  held: 'held back',
  installing: 'installing',
  installed: 'installed',
  serving: 'serving',
  rolled_back: 'rolled back',
  failed: 'failed',
  released: 'no longer maintained',
} as const satisfies Record<InstallationState, string>;
