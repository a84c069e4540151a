import { type Classified, classify, type KnownFacts, type OwnKey } from './classify';

const now = new Date('2026-11-23T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);

const nothing: KnownFacts = {
  certificatePlanId: null,
  keys: [],
  isKnownCert: false,
  knownKeyNames: [],
  isAuthorizedCa: false,
};
const key = (names: string, isOpen = false): OwnKey => ({
  planId: '7',
  dnsNames: new Set(names.split(' ')),
  isOpen,
});
const keyFor = (names: string): ReadonlySet<string> => new Set(names.split(' '));

interface Case {
  readonly names?: string;
  readonly hasAllNames?: boolean;
  readonly foundAt?: Date;
  readonly facts?: Partial<KnownFacts>;
  readonly delayMinutes?: number;
}

function decide({
  names = 'a.example.com',
  hasAllNames = true,
  foundAt = now,
  facts = {},
  delayMinutes = 0,
}: Case) {
  const classified: Classified = { monitoredNames: names.split(' '), hasAllNames, foundAt };
  return classify(classified, { ...nothing, ...facts }, delayMinutes * 60_000, now);
}

const everything: KnownFacts = {
  certificatePlanId: '6',
  keys: [key('a.example.com', true)],
  isKnownCert: true,
  knownKeyNames: [keyFor('a.example.com')],
  isAuthorizedCa: true,
};

it.each<[reason: string, what: string, Case]>([
  ['certificate', 'the TBS digest is that of a certificate of the account', { facts: everything }],
  ['certificate', 'also with other names', { names: 'b.example.com', facts: { certificatePlanId: '6' } }],
  ['order_key', 'key and names are those of terms', { facts: { ...everything, certificatePlanId: null } }],
  ['order_key', 'some names of the terms', { facts: { keys: [key('b.example.com a.example.com')] } }],
  [
    'order_key',
    'the names of a second plan',
    { facts: { keys: [key('x.example.com'), key('a.example.com')] } },
  ],
  ['order_key', 'the same wildcard', { names: '*.example.com', facts: { keys: [key('*.example.com')] } }],
  [
    'unknown',
    'a foreign name beside an own one',
    { names: 'a.example.com b.example.com', facts: { keys: [key('a.example.com')] } },
  ],
  [
    'unknown',
    'names of two plans with the key together',
    { names: 'a.example.com b.example.com', facts: { keys: [key('a.example.com'), key('b.example.com')] } },
  ],
  ['unknown', 'a name below a wildcard of the terms', { facts: { keys: [key('*.example.com')] } }],
  [
    'unknown',
    'a wildcard above a name of the terms',
    { names: '*.example.com', facts: { keys: [key('a.example.com')] } },
  ],
  [
    'unknown',
    'own names, and more that are not listed',
    { hasAllNames: false, facts: { keys: [key('a.example.com')] } },
  ],
  [
    'known_cert',
    'the TBS digest is authorized',
    { facts: { ...everything, certificatePlanId: null, keys: [] } },
  ],
  [
    'known_key',
    'the key is authorized for the names',
    { facts: { knownKeyNames: [keyFor('b.example.com'), keyFor('a.example.com b.example.com')] } },
  ],
  [
    'unknown',
    'the key is authorized for another name',
    { facts: { knownKeyNames: [keyFor('b.example.com')] } },
  ],
  [
    'unknown',
    'the key is authorized for the wildcard',
    { facts: { knownKeyNames: [keyFor('*.example.com')] } },
  ],
  [
    'unknown',
    'the key is authorized, and there are more names',
    { hasAllNames: false, facts: { knownKeyNames: [keyFor('a.example.com')] } },
  ],
  ['authorized_ca', 'the signature is that of an authorized CA', { facts: { isAuthorizedCa: true } }],
  ['waiting', 'the signature was not verified yet', { facts: { isAuthorizedCa: null } }],
  [
    'known_key',
    'a signature that does not matter',
    { facts: { isAuthorizedCa: null, knownKeyNames: [keyFor('a.example.com')] } },
  ],
  [
    'waiting',
    'another name for the key of an open issuance',
    { facts: { keys: [key('b.example.com', true)] } },
  ],
  [
    'waiting',
    'the same after 59 minutes',
    { foundAt: minutesAgo(59), facts: { keys: [key('b.example.com', true)] } },
  ],
  [
    'unknown',
    'the same after an hour',
    { foundAt: minutesAgo(60), facts: { keys: [key('b.example.com', true)] } },
  ],
  [
    'unknown',
    'another name for the key of an issuance that ended',
    { facts: { keys: [key('b.example.com')] } },
  ],
  ['waiting', 'the delay of alerts has not passed', { foundAt: minutesAgo(4), delayMinutes: 5 }],
  ['unknown', 'the delay of alerts has passed', { foundAt: minutesAgo(5), delayMinutes: 5 }],
  ['unknown', 'all other cases', {}],
])('%s: %s', (reason, _what, given) => {
  const { reason: decided, state } = decide(given);
  expect(decided).toBe(reason);
  expect(state).toBe(['waiting', 'unknown'].includes(reason) ? reason : 'known');
});

it('names the plan whose certificate or key it is', () => {
  expect(decide({ facts: everything }).planId).toBe('6');
  expect(decide({ facts: { keys: [key('a.example.com')] } }).planId).toBe('7');
  expect(decide({ facts: { keys: [key('b.example.com', true)] } }).planId).toBe('7');
  expect(decide({ facts: { keys: [key('b.example.com')] } }).planId).toBeNull();
});

it('says when a waiting finding is classified again, never later than an hour after it was found', () => {
  expect(decide({ facts: { isAuthorizedCa: null } }).classifyAt).toEqual(now);
  const keys = [key('b.example.com', true)];
  expect(decide({ facts: { keys } }).classifyAt).toEqual(new Date(now.getTime() + 15_000));
  const foundAt = new Date(now.getTime() - 3_590_000);
  expect(decide({ foundAt, facts: { keys } }).classifyAt).toEqual(new Date(now.getTime() + 10_000));
  expect(decide({ foundAt: minutesAgo(4), delayMinutes: 5 }).classifyAt).toEqual(
    new Date(now.getTime() + 60_000),
  );
});
