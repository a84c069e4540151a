/** One change of one field of a message. */
export interface Falsification {
  /** `orders[0].certificate.sha256: another hash` */
  readonly what: string;
  readonly body: unknown;
}

const longArray = 10_001;

/** Every field of a JSON body, in every way that its form suggests; of arrays the first and the last entry. */
export function falsifications(body: unknown): Falsification[] {
  return places(body).flatMap(({ at, value, set }) =>
    [...instead(value), ['left out', undefined] as const].map(([what, other]) => ({
      what: `${at === '' ? 'the body' : at}: ${what}`,
      body: set(other),
    })),
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

function instead(value: unknown): (readonly [string, unknown])[] {
  const null_ = ['null', null] as const;
  if (value === null)
    return [
      ['a text', 'x'],
      ['a number', 7],
      ['a hash', 'ab'.repeat(32)],
    ];
  if (typeof value === 'boolean') return [['the opposite', !value], ['a text', String(value)], null_];
  if (typeof value === 'number')
    return [
      ['one more', value + 1],
      ['zero', 0],
      ['negative', -1],
      ['huge', 2 ** 53],
      ['a text', String(value)],
      null_,
    ];
  if (Array.isArray(value))
    return [
      ['empty', []],
      ['doubled', [...value, ...value]],
      ['endless', Array(longArray).fill(value[0] ?? 'x')],
      ['an object', {}],
      null_,
    ];
  if (typeof value === 'object') return [['a list', [value]], ['a text', 'x'], null_];
  return [...otherTexts(String(value)), ['empty', ''], ['long', 'x'.repeat(100_000)], ['a number', 7], null_];
}

function otherTexts(text: string): (readonly [string, string])[] {
  const evilName = ['a path', '../../../../tmp/certwright-falsified'] as const;
  const lines = ['with a line break', `${text}\nx`] as const;
  if (/^[0-9a-f]{64}$/.test(text))
    return [['another hash', text.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))], evilName, lines];
  if (/^\d{4}-\d\d-\d\dT/.test(text))
    return [['long ago', '2001-01-01T00:00:00Z'], ['far in the future', '2999-01-01T00:00:00Z'], lines];
  if (/^[\w-]{22,}$/.test(text) || /^[A-Za-z0-9+/]{22,}=*$/.test(text)) {
    const middle = Math.floor(text.length / 2);
    const other = text[middle] === 'A' ? 'B' : 'A';
    return [
      ['another one', `${text.slice(0, middle)}${other}${text.slice(middle + 1)}`],
      ['cut', text.slice(0, -4)],
      lines,
    ];
  }
  return [
    ['another name', 'other.example.org'],
    evilName,
    lines,
    ['go', 'go'],
    ['hold', 'hold'],
    ['rsa', 'rsa'],
  ];
}
