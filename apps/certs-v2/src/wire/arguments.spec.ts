import { Arguments } from './arguments';
import { Refusal } from './reasons';

/** What a form and a JSON body with the same meaning look like. */
const form = (fields: Record<string, string | string[]>) => Arguments.of(fields, true);
const json = (body: unknown) => Arguments.of(body);

function refusalOf(work: () => unknown): { reason: string; param?: string; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) {
      const { reason, message, field } = error;
      return { reason, message, ...(field === undefined ? {} : { param: field }) };
    }
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('the same arguments are read from a form and from JSON', () => {
  it('texts', () => {
    for (const given of [form({ type: 'dv' }), json({ type: 'dv' })]) {
      expect(given.text('type')).toBe('dv');
      expect(given.requiredText('type')).toBe('dv');
      expect(given.text('other')).toBeUndefined();
    }
    expect(json({ days: 365 }).text('days')).toBe('365');
  });

  it.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('the flag %s', (text, value) => {
    expect(form({ all: text }).boolean('all')).toBe(value);
    expect(json({ all: text }).boolean('all')).toBe(value);
    expect(json({ all: value }).boolean('all')).toBe(value);
    expect(json({ all: Number(value) }).boolean('all')).toBe(value);
  });

  it('lists and objects, in JSON also as the text that a form has', () => {
    for (const given of [form({ tags: '["a"]' }), json({ tags: '["a"]' }), json({ tags: ['a'] })]) {
      expect(given.json('tags')).toEqual(['a']);
      expect(given.isList('tags')).toBe(true);
    }
    expect(form({ sans: 'null' }).json('sans')).toBeNull();
    expect(json({ sans: null }).json('sans')).toBeNull();
    expect(json({ sans: 'null' }).json('sans')).toBeNull();
    expect(json({ sans: null }).has('sans')).toBe(true);
    expect(form({ chain: 'PEM' }).isList('chain')).toBe(false);
  });
});

describe('what is not given', () => {
  it('no body at all is no argument', () => {
    for (const body of [undefined, null]) expect(Arguments.of(body).names()).toEqual([]);
  });

  it('a JSON null says nothing of a text or a flag', () => {
    const given = json({ approver_email: null, auto_renew: null });
    expect([given.text('approver_email'), given.boolean('auto_renew')]).toEqual([undefined, undefined]);
    expect(refusalOf(() => given.requiredText('approver_email'))).toMatchObject({
      reason: 'missing_param',
      param: 'approver_email',
    });
  });

  it('an empty text is a value', () => {
    expect(form({ csr: '' }).text('csr')).toBe('');
    expect(refusalOf(() => form({ muted: '' }).boolean('muted'))).toMatchObject({ reason: 'bad_param' });
  });

  it('members of the prototype are not there', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(json({}).has(name)).toBe(false);
      expect(json({}).text(name)).toBeUndefined();
      expect(json({}).json(name)).toBeUndefined();
    }
    expect(json({ constructor: 'x' }).text('constructor')).toBe('x');
  });
});

describe('what cannot be read is refused with the name of the parameter', () => {
  it.each([
    ['a form field twice', () => form({ csr: ['a', 'b'] }).text('csr'), 'csr'],
    ['a flag twice', () => form({ all: ['1', '1'] }).boolean('all'), 'all'],
    ['a list twice', () => form({ tags: ['["a"]', '["b"]'] }).json('tags'), 'tags'],
    ['an array for a text', () => json({ csr: ['a'] }).text('csr'), 'csr'],
    ['an object for a text', () => json({ csr: {} }).text('csr'), 'csr'],
    ['true for a text', () => json({ csr: true }).text('csr'), 'csr'],
    ['a word for a flag', () => form({ all: 'yes' }).boolean('all'), 'all'],
    ['another case for a flag', () => form({ all: 'True' }).boolean('all'), 'all'],
    ['two for a flag', () => json({ all: 2 }).boolean('all'), 'all'],
    ['an array for a flag', () => json({ all: [true] }).boolean('all'), 'all'],
    ['half a list', () => form({ tags: '["a"' }).json('tags'), 'tags'],
    ['an empty text for a list', () => form({ tags: '' }).json('tags'), 'tags'],
    ['a NUL in the text of a list', () => form({ tags: '["\\u0000"]' }).json('tags'), 'tags'],
    ['half a surrogate pair in it', () => form({ tags: '["\\ud800"]' }).json('tags'), 'tags'],
    ['__proto__ in it', () => form({ sans: '[{"__proto__":1}]' }).json('sans'), 'sans'],
    [
      'nesting in it',
      () => form({ sans: `${'['.repeat(50_000)}${']'.repeat(50_000)}` }).json('sans'),
      'sans',
    ],
  ])('%s', (_what, work, param) => {
    expect(refusalOf(work)).toMatchObject({ reason: 'bad_param', param });
  });

  it('with the reason that the argument has for it', () => {
    expect(refusalOf(() => form({ sans: '[' }).json('sans', 'bad_sans')).reason).toBe('bad_sans');
    expect(refusalOf(() => form({ sans: ['[]', '[]'] }).json('sans', 'bad_sans')).reason).toBe('bad_sans');
  });

  it.each([[[]], ['text'], [5], [true]])('a body %j', (body) => {
    expect(refusalOf(() => Arguments.of(body))).toMatchObject({ reason: 'bad_request' });
  });

  it('and a name as long as the body is not repeated', () => {
    const name = `tags.${'x'.repeat(200_000)}`;
    const { param, message } = refusalOf(() => json({ [name]: 'yes' }).boolean(name));
    expect(param).toHaveLength(100);
    expect(message.length).toBeLessThan(200);
  });
});
