import 'reflect-metadata';
import { ApiProperty } from '@nestjs/swagger';
import {
  argumentsIn,
  ExpandArgument,
  fieldsIn,
  FlagArgument,
  IntegerArgument,
  JsonArgument,
  readArguments,
  RepeatableArgument,
  Required,
  type Sent,
  TextArgument,
} from './arguments';
import type { Expansion } from './expansion';
import { Refusal } from './reasons';

class Arguments {
  @TextArgument({}) csr?: string;
  @FlagArgument({}) all?: boolean;
  @JsonArgument({}, 'bad_param', (value) => value) tags?: unknown;
  @JsonArgument({ nullable: true }, 'bad_sans', (value) => value) sans?: unknown;
  @IntegerArgument(1, 100, {}) days?: number;
  @RepeatableArgument({}) hostname?: readonly string[];
  @ExpandArgument() expand?: Expansion;
}

/** What a form and a JSON body with the same meaning look like. */
const form = (fields: Record<string, string | string[]>) =>
  readArguments(Arguments, argumentsIn(fields, true));
const json = (body: unknown) => readArguments(Arguments, argumentsIn(body));

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
    for (const given of [form({ csr: 'PEM' }), json({ csr: 'PEM' })]) {
      expect(given).toEqual({ csr: 'PEM' });
    }
    expect(json({ csr: 365 }).csr).toBe('365');
  });

  it.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('the flag %s', (text, value) => {
    expect(form({ all: text }).all).toBe(value);
    expect(json({ all: text }).all).toBe(value);
    expect(json({ all: value }).all).toBe(value);
    expect(json({ all: Number(value) }).all).toBe(value);
  });

  it('whole numbers', () => {
    expect([form({ days: '100' }).days, json({ days: 1 }).days, json({ days: '7' }).days]).toEqual([
      100, 1, 7,
    ]);
  });

  it('lists and objects, in JSON also as the text that a form has', () => {
    for (const given of [form({ tags: '["a"]' }), json({ tags: '["a"]' }), json({ tags: ['a'] })]) {
      expect(given.tags).toEqual(['a']);
    }
    expect(form({ sans: 'null' }).sans).toBeNull();
    expect(json({ sans: null }).sans).toBeNull();
    expect(json({ sans: 'null' }).sans).toBeNull();
  });
});

it('a field of a query may be repeated where it is declared so, and empty values are left out', () => {
  const query = (fields: Sent) => readArguments(Arguments, fieldsIn(fields));
  expect(query({ hostname: 'a' }).hostname).toEqual(['a']);
  expect(query({ hostname: ['a', '', 'b'] }).hostname).toEqual(['a', 'b']);
  const { expand } = query({ expand: ['current.crt', 'csr'] });
  expect([expand?.has('csr'), expand?.below('current').has('crt')]).toEqual([true, true]);
});

describe('what is not given', () => {
  it('no body at all is no argument', () => {
    for (const body of [undefined, null]) expect(json(body)).toEqual({});
  });

  it('a JSON null counts as omitted, unless it is a value of the argument', () => {
    expect(json({ csr: null, all: null, days: null, tags: null, sans: null })).toEqual({ sans: null });
  });

  it('an empty text is a value, except for a number', () => {
    expect(form({ csr: '', days: '' })).toEqual({ csr: '' });
    expect(refusalOf(() => form({ all: '' }))).toMatchObject({ reason: 'bad_param' });
  });

  it('is refused when it is required', () => {
    class Certificate {
      @Required() @TextArgument({}) crt: string;
    }
    for (const body of [{}, { crt: null }, { other: 1 }]) {
      expect(refusalOf(() => readArguments(Certificate, body))).toEqual({
        reason: 'missing_param',
        param: 'crt',
        message: 'crt is required here.',
      });
    }
    expect(readArguments(Certificate, { crt: '' })).toEqual({ crt: '' });
  });

  it('members of the prototype are not there', () => {
    expect({ ...json({ constructor: 'x', toString: 'x' }) }).toEqual({});
    class Odd {
      @TextArgument({}) constructor_?: string;
      @TextArgument({}) valueOf2?: string;
    }
    expect({ ...readArguments(Odd, Object.create({ constructor_: 'x' }) as Sent) }).toEqual({});
  });
});

describe('what cannot be read is refused with the name of the parameter', () => {
  it.each([
    ['a form field twice', () => form({ csr: ['a', 'b'] }), 'csr'],
    ['a flag twice', () => form({ all: ['1', '1'] }), 'all'],
    ['a list twice', () => form({ tags: ['["a"]', '["b"]'] }), 'tags'],
    ['a number twice', () => form({ days: ['1', '1'] }), 'days'],
    ['an array for a text', () => json({ csr: ['a'] }), 'csr'],
    ['an object for a text', () => json({ csr: {} }), 'csr'],
    ['true for a text', () => json({ csr: true }), 'csr'],
    ['a word for a flag', () => form({ all: 'yes' }), 'all'],
    ['another case for a flag', () => form({ all: 'True' }), 'all'],
    ['two for a flag', () => json({ all: 2 }), 'all'],
    ['an array for a flag', () => json({ all: [true] }), 'all'],
    ['a number that is too small', () => form({ days: '0' }), 'days'],
    ['a number that is too large', () => json({ days: 101 }), 'days'],
    ['a fraction', () => json({ days: 1.5 }), 'days'],
    ['half a list', () => form({ tags: '["a"' }), 'tags'],
    ['an empty text for a list', () => form({ tags: '' }), 'tags'],
    ['a NUL in the text of a list', () => form({ tags: '["\\u0000"]' }), 'tags'],
    ['half a surrogate pair in it', () => form({ tags: '["\\ud800"]' }), 'tags'],
    ['__proto__ in it', () => form({ tags: '[{"__proto__":1}]' }), 'tags'],
    ['nesting in it', () => form({ tags: `${'['.repeat(50_000)}${']'.repeat(50_000)}` }), 'tags'],
  ])('%s', (_what, work, param) => {
    expect(refusalOf(work)).toMatchObject({ reason: 'bad_param', param });
  });

  it('with the reason that the argument has for it', () => {
    expect(refusalOf(() => form({ sans: '[' })).reason).toBe('bad_sans');
    expect(refusalOf(() => form({ sans: ['[]', '[]'] })).reason).toBe('bad_sans');
  });

  it('with the place of a NUL within the text', () => {
    expect(refusalOf(() => form({ sans: '{"value":"\\u0000"}' })).message).toBe(
      'sans is not valid JSON. value contains a NUL character.',
    );
    expect(refusalOf(() => form({ sans: '["\\u0000"]' })).message).toBe(
      'sans is not valid JSON. The text contains a NUL character.',
    );
  });

  it('the first one in the order in which the class declares them', () => {
    expect(refusalOf(() => json({ days: 0, sans: '[', all: 2 }))).toMatchObject({ param: 'all' });
  });

  it.each([[[]], ['text'], [5], [true]])('a body %j', (body) => {
    expect(refusalOf(() => argumentsIn(body))).toMatchObject({ reason: 'bad_request' });
  });
});

it('arguments are documented as they are read, unless only existing clients send them', () => {
  class Documented {
    @Required() @TextArgument({ description: 'PEM.' }) crt: string;
    @IntegerArgument(1, 9, null) days?: number;
    @FlagArgument({}) muted?: boolean;
    @ApiProperty() other: string;
  }
  const of = (member: string) =>
    Reflect.getMetadata('swagger/apiModelProperties', Documented.prototype, member) as object | undefined;
  expect(of('crt')).toMatchObject({ type: String, description: 'PEM.', required: true });
  expect(of('days')).toBeUndefined();
  expect(of('muted')).toMatchObject({ type: Boolean, required: false });
});
