/** One change of one field of a message. */
export interface Falsification {
  /** `orders[0].certificate.sha256: another hash` */
  readonly what: string;
  readonly body: unknown;
}

/**
 * Every field of a JSON body: with values that a malicious server would choose, with one of another type, and left out.
 * Of arrays, the first and the last entry.
 */
export function falsifications(body: unknown): Falsification[] {
  const original = JSON.stringify(body);
  return (
    places(body)
      .flatMap(({ at, value, set }, index) =>
        [...forgeries(value), otherType(value, index), ['left out', undefined] as const].map(
          ([what, other]) => ({
            what: `${at === '' ? 'the body' : at}: ${what}`,
            body: set(other),
          }),
        ),
      )
      // An empty list is no other one when it is doubled.
      .filter((each) => JSON.stringify(each.body) !== original)
  );
}

interface Place {
  readonly at: string;
  readonly value: unknown;
  /** A copy of the whole body with another value here; undefined leaves it out. */
  readonly set: (other: unknown) => unknown;
}

function places(value: unknown, at = '', set: Place['set'] = (other) => other): Place[] {
  const here: Place = { at, value, set };
  if (Array.isArray(value)) {
    const indexes = [...new Set([0, value.length - 1])].filter((index) => index in value);
    return [
      here,
      ...indexes.flatMap((index) =>
        places(value[index], `${at}[${index}]`, (other) =>
          set(other === undefined ? value.toSpliced(index, 1) : value.with(index, other)),
        ),
      ),
    ];
  }
  if (typeof value !== 'object' || value === null) return [here];
  return [
    here,
    ...Object.entries(value).flatMap(([name, member]) =>
      places(member, at === '' ? name : `${at}.${name}`, (other) => set({ ...value, [name]: other })),
    ),
  ];
}

type Forgery = readonly [what: string, value: unknown];

/** Beyond every limit of the protocol. */
const tooMany = 10_001;

function forgeries(value: unknown): Forgery[] {
  if (typeof value === 'boolean') return [['the opposite', !value]];
  if (typeof value === 'number')
    return [
      ['one more', value + 1],
      ['zero', 0],
      ['beyond exact numbers', 2 ** 53],
    ];
  if (Array.isArray(value))
    return [
      ['empty', []],
      ['doubled', [...value, ...value]],
      ['endless', Array(tooMany).fill(value[0] ?? 'x')],
    ];
  return typeof value === 'string' ? forgedTexts(value) : [];
}

function forgedTexts(text: string): Forgery[] {
  const common: Forgery[] = [
    ['with a line break', `${text}\nx`],
    ['a path', '../../../../tmp/certwright-falsified'],
  ];
  if (/^[0-9a-f]{64}$/.test(text))
    return [['another hash', text.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))], ...common];
  if (/^\d{4}-\d\d-\d\dT/.test(text))
    return [
      ['long ago', '2001-01-01T00:00:00Z'],
      ['in the future', '2999-01-01T00:00:00Z'],
    ];
  if (/^[\w+/.-]{22,}=*$/.test(text) && !text.endsWith('.com')) {
    const middle = Math.floor(text.length / 2);
    const other = text[middle] === 'A' ? 'B' : 'A';
    return [
      ['another one', `${text.slice(0, middle)}${other}${text.slice(middle + 1)}`],
      ['cut', text.slice(0, -4)],
      ['long', 'A'.repeat(200_000)],
    ];
  }
  const words: Record<string, string> = { go: 'hold', hold: 'go', rsa: 'ecdsa', ecdsa: 'rsa' };
  return [['another one', words[text] ?? 'other.example.org'], ...common];
}

/** Each type in turn, so that every field gets one that it must not have. */
function otherType(value: unknown, index: number): Forgery {
  const types: Forgery[] = [
    ['null', null],
    ['a number', 7],
    ['a list', [value]],
    ['an object', { value }],
    ['a text', 'x'],
  ];
  const others = types.filter(([, other]) => typeof other !== typeof value || other === null);
  return (value === null ? types[4] : others[index % others.length]) ?? ['null', null];
}
