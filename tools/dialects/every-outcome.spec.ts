import type { Outcome } from '@certwright/issuance';
import { messageOf, neutralMessage, type OutcomeMessages } from '@certwright/outcome-messages';
import { messages as certsV2 } from '../../apps/certs-v2/src/wire/outcome-messages';
import { outcomeMessagesOf } from '../../apps/notifier/src/mail/letters/object-messages';
import { messages as ordersV3 } from '../../apps/orders-v3/src/wire/outcome-messages';
import { everyOutcome } from './samples';

interface Spoken {
  readonly messageFor: (outcome: Outcome) => string;
  /** What only the users of another API know. */
  readonly foreign: RegExp;
}

const spokenBy = (messages: OutcomeMessages) => (outcome: Outcome) => messageOf(outcome, messages);

const wordsOfV3 = /\borders?\b|\bproducts?\b|\bpost (it|the)\b|\bauto_renew\b|\bpaused?\b/i;
const wordsOfV2 =
  /\binstances?\b|\bcertificate (objects?|types?)\b|redo_approval|http_approval|approval_method|\breissue\b/i;
const either = new RegExp(`${wordsOfV2.source}|${wordsOfV3.source.replace('|\\bproducts?\\b', '')}`, 'i');

const dialects: Readonly<Record<string, Spoken>> = {
  'certs-v2': { messageFor: spokenBy(certsV2), foreign: wordsOfV3 },
  'orders-v3': { messageFor: spokenBy(ordersV3), foreign: wordsOfV2 },
  'mail to users of certs-v2': { messageFor: spokenBy(outcomeMessagesOf['certs-v2']), foreign: wordsOfV3 },
  'mail to users of orders-v3': { messageFor: spokenBy(outcomeMessagesOf['orders-v3']), foreign: wordsOfV2 },
  'text for releases that know no outcomes': { messageFor: neutralMessage, foreign: either },
};

const cases = everyOutcome.map((outcome) => [JSON.stringify(outcome), outcome] as const);

describe.each(Object.entries(dialects))('%s', (_, { messageFor, foreign }) => {
  it.each(cases)('has a message for %s', (_json, outcome) => {
    const message = messageFor(outcome);
    expect(message).toMatch(/^\S.{10,}\.$/s);
    expect(message).not.toMatch(/undefined|\[object |NaN|\bnull\b/);
    expect(message).not.toMatch(/ {2}|\.\.|\. ?;|;;|\( ?\)/);
    expect(message).not.toMatch(foreign);
  });
});

it('every outcome survives JSON', () => {
  expect(JSON.parse(JSON.stringify(everyOutcome))).toEqual(everyOutcome);
});
